// The shape of a launch: how many blocks, how many threads a block, how much dynamic shared memory. One check for both
// worlds, so that the emulator refuses what a GPU would refuse.

#pragma once

#include <string_view>

#include "fa/device_info.h"
#include "fa/host_device.h"
#include "fa/place.h"
#include "fa/shape.h"

namespace fa {

struct Extents {
  Index x = 1;
  Index y = 1;
  Index z = 1;
};

// In a call: fa::launch<kernel>({{B, H}, {threads}, bytes}, ...).
struct LaunchShape {
  Extents grid = {};       // blocks:              x < 2³¹, y and z ≤ 65535
  Extents block = {};      // threads of a block:  x and y ≤ 1024, z ≤ 64, all together ≤ 1024
  Index shared_bytes = 0;  // dynamic shared memory of a block, see fa::shared_bytes
  Place where = Place::here();
};

// Throws LaunchError, which names the kernel, the place, the argument, its value and the limit.
void validate(const LaunchShape& shape, std::string_view kernel, const DeviceInfo& device);

// Bytes that an array of `count` elements takes from dynamic shared memory: rounded up to a multiple of 16, so that the
// next array starts where a load of four floats may start. A launcher adds these up, one for each array or matrix.
template <class T>
FA_HOST_DEVICE constexpr Index shared_bytes(Index count) {
  constexpr Index alignment = 16;
  return (count * Index{sizeof(T)} + alignment - 1) / alignment * alignment;
}

}  // namespace fa
