// fa::launch<kernel>: runs a kernel on the emulator. The blocks of the grid are dealt out to the cores of the machine.

#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "fa/kernel_name.h"
#include "fa/launch_shape.h"
#include "simt/block.h"

namespace fa {

namespace simt {

// Runs all blocks. Throws LaunchError for a shape that a GPU would refuse; else what the first block, in the grid's
// order, threw: KernelFault, NotStarted, ...
void launch(const std::string& name, const LaunchShape& shape, void (*run)(const void*), const void* arguments);

}  // namespace simt

inline namespace emulated {

template <auto kernel, class... Arguments>
void launch(const LaunchShape& shape, Arguments... arguments) {
  static const std::string name = kernel_name(__PRETTY_FUNCTION__);
  using All = std::tuple<Arguments...>;
  const All all(arguments...);
  const auto run = [](const void* packed) {
    std::apply([](const Arguments&... each) { kernel(each...); }, *static_cast<const All*>(packed));
  };
  simt::launch(name, shape, run, &all);
}

// A launch on the emulator always waits.
inline void set_synchronous_launches(bool) {}

}  // namespace emulated
}  // namespace fa
