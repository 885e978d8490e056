// fa::launch<kernel>(...) on a GPU: CUDA's kernel<<<...>>>(...), with every error reported where it belongs.

#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "fa/kernel_name.h"
#include "fa/launch_shape.h"
#include "fa/todo.h"

#ifdef __CUDACC__
#include "cuda/check.h"
#endif

namespace fa {

// true, as at first: launch waits for the kernel and reports its failure itself, and new memory is poisoned.
// false, for benchmarks: neither, except that the first launch of each kernel waits all the same.
void set_synchronous_launches(bool synchronous);

namespace detail {

bool synchronous_launches();

// What is known of a kernel. One for each instance of fa::launch.
class Kernel {
 public:
  Kernel(const void* function, std::string name);

  // Throws LaunchError for a shape that the device refuses. Lets the kernel have the shared memory that it asks for.
  void before_launch(const LaunchShape& shape);

  // Throws LaunchError if the kernel did not start, and DeviceError if it failed. Returns whether it waited for that.
  bool after_launch(const LaunchShape& shape);

 private:
  std::string launch_at(const Place& where) const;  // how a message begins

  const void* function_;
  std::string name_;
  Index static_shared_bytes_ = 0;
  Index allowed_dynamic_bytes_ = 0;
  bool ran_before_ = false;
};

#ifdef __CUDACC__
inline dim3 dim3_of(const Extents& extents) {
  return {static_cast<unsigned>(extents.x), static_cast<unsigned>(extents.y), static_cast<unsigned>(extents.z)};
}

[[maybe_unused]] static void throw_if_not_started() {
  TodoNote note;
  check(cudaMemcpyFromSymbol(&note, todo_note, sizeof note), "cudaMemcpyFromSymbol");
  if (note.taken == 0) return;
  const TodoNote empty;
  check(cudaMemcpyToSymbol(todo_note, &empty, sizeof empty), "cudaMemcpyToSymbol");
  todo(note.step);
}
#endif

}  // namespace detail

#ifdef __CUDACC__
template <auto kernel, class... Arguments>
void launch(const LaunchShape& shape, Arguments... arguments) {
  static detail::Kernel known(reinterpret_cast<const void*>(kernel), kernel_name(__PRETTY_FUNCTION__));
  known.before_launch(shape);
  kernel<<<detail::dim3_of(shape.grid), detail::dim3_of(shape.block), static_cast<std::size_t>(shape.shared_bytes)>>>(
      arguments...);
  if (known.after_launch(shape)) detail::throw_if_not_started();
}
#endif

}  // namespace fa
