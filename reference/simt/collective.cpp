#include "simt/collective.h"

#include <algorithm>

namespace fa::simt {

void require_whole_warp(const char* name, const CallSite& site) {
  const Thread& thread = *running;
  const auto& lanes = thread.warp->lanes;
  const auto threads = kWarp - std::count(lanes.begin(), lanes.end(), nullptr);
  if (threads == kWarp) return;
  stop(thread, std::string(name) + " by a warp of " + std::to_string(threads) + " threads: it takes all 32",
       "  at " + to_string(site) + '\n');
}

}  // namespace fa::simt
