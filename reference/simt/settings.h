// How the emulator runs: what it checks, in which order, on how many cores.
//
//   FA_SIMT_CHECKS=off       only count and bounds-check: no races, no reads of memory that nothing wrote (default: on)
//   FA_SIMT_WORKERS=1        cores that run blocks; 1 is what a debugger wants (default: this machine's, up to 16)
//   FA_SIMT_ORDER=backward   order in which the threads of a block run: forward, backward, or shuffled:SEED
//   FA_SIMT_SHARED=65536     shared memory that a block may use, in bytes (default: 232448, as on Hopper)
//   FA_SIMT_BANKS=on         count the bank conflicts of shared memory in each launch (default: off)

#pragma once

#include <cstdint>

#include "fa/shape.h"

namespace fa::simt {

enum class Order { forward, backward, shuffled };

struct Settings {
  bool checks = true;
  int workers = 1;
  Order order = Order::forward;
  std::uint64_t seed = 1;  // of Order::shuffled
  Index shared_bytes_per_block = 227 * 1024;
  bool banks = false;
};

// What the environment says. Throws std::invalid_argument, which names the variable, for a value that is not
// understood.
Settings settings_from_environment();

// The settings of the launches to come. At first they are what the environment says. If it says what is not understood,
// the program says so and exits, before main().
Settings& settings();

}  // namespace fa::simt
