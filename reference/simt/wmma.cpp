#include "simt/wmma.h"

#include <string>

#include "simt/fault.h"

namespace fa::simt {

void stop_at_unset(const Thread& thread) {
  stop(thread, text_of_operation(thread) + " with a fragment that nothing has set",
       "  at " + to_string(thread.site) + "; fill_fragment, load_matrix_sync and mma_sync set one\n");
}

void require_ld(unsigned ld, int multiple) {
  if (ld % unsigned(multiple) == 0) return;
  stop(*running, text_of_operation(*running) + " with ld = " + std::to_string(ld) + ": must be a multiple of " +
                     std::to_string(multiple) + ", which are 16 bytes");
}

FA_SIMT_WMMA(, half);
FA_SIMT_WMMA(, bfloat16);
template void store_fragment(const StoreToTile&);

}  // namespace fa::simt
