#include "fa/launch_shape.h"

#include <string>

#include "fa/device_error.h"

namespace fa {
namespace {

constexpr Index largest_grid_x = (Index{1} << 31) - 1;
constexpr Index largest_grid_yz = 65535;
constexpr Index largest_block_xy = 1024;
constexpr Index largest_block_z = 64;
constexpr Index most_threads = 1024;

// "attention_forward_kernel, launched at attention_forward.cu:84: grid.y = 70000: must be at most 65535"
struct Check {
  const LaunchShape& shape;
  std::string_view kernel;

  [[noreturn]] void reject(const std::string& what, const std::string& allowed) const {
    throw LaunchError(std::string(kernel) + ", launched at " + to_string(shape.where) + ": " + what + ": must be " +
                      allowed);
  }
  void between(const std::string& name, Index value, Index least, Index most, const std::string& why = "") const {
    if (value < least) reject(name + " = " + std::to_string(value), "at least " + std::to_string(least));
    if (value > most) reject(name + " = " + std::to_string(value), "at most " + std::to_string(most) + why);
  }
};

}  // namespace

void validate(const LaunchShape& shape, std::string_view kernel, const DeviceInfo& device) {
  const Check check{shape, kernel};
  const auto& [grid, block, shared_bytes, where] = shape;
  check.between("grid.x", grid.x, 1, largest_grid_x);
  check.between("grid.y", grid.y, 1, largest_grid_yz);
  check.between("grid.z", grid.z, 1, largest_grid_yz);
  check.between("block.x", block.x, 1, largest_block_xy);
  check.between("block.y", block.y, 1, largest_block_xy);
  check.between("block.z", block.z, 1, largest_block_z);
  check.between("threads of a block, block.x · block.y · block.z", block.x * block.y * block.z, 1, most_threads);
  check.between("shared_bytes", shared_bytes, 0, device.shared_bytes_per_block,
                ", what a block of this device (" + device.name + ") may have");
}

}  // namespace fa
