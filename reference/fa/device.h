// The course's CUDA: what a lesson's .cu file and its tests include. One file, two worlds:
//
//   built with nvcc (preset cuda)         a kernel runs on the GPU, and each of these words is the plain thing
//   built with any C++ compiler           reference/simt plays the GPU, and these words know their bounds, who touched
//                                         an element last, and how many bytes went by
//
// In a kernel                                        on a GPU                           on the emulator
//
//   fa::hbm<const float> q                           const float* __restrict__          a checked, counting pointer
//     q[i], out[i] = x, q + offset, atomicAdd(&out[i], x)
//   __shared__ fa::shared<float, 32, 33> tile;       an array in shared memory          the same, checked
//     tile[r][c]; 1 to 3 dimensions; tile[r] is an fa::SharedArray<float>
//   fa::DynamicShared memory;                        the launch's shared_bytes          the same, checked
//     fa::SharedMatrix<float> k_tile = memory.matrix<float>("k_tile", Bc, D + 1);       k_tile[r][c]
//     fa::SharedArray<float> weight = memory.array<float>("weight", Br);                weight[r]
//     Once a kernel. All threads ask for the same, in the same order; each begins at a multiple of 16 bytes.
//   threadIdx, __syncthreads(), __shfl_xor_sync, ... CUDA's own                         fibers that wait for each other
//   fa::todo("Step 3: scores");                      the thread ends, and fa::launch    throws fa::NotStarted
//                                                    throws fa::NotStarted
//
// On the host
//
//   fa::DeviceBuffer<float> q("q", values);          memory of the GPU, with a copy of `values`
//   fa::DeviceBuffer<float> out("out", count);       the same, full of poison (fa/poison.h)
//     out.data(), out.size(), out.bytes(), out.to_host(), out.from_host(values)
//   fa::DeviceScratch scratch;                       meters working memory: scratch.allocate<float>("S", count)
//   fa::launch<kernel>({{B, H}, {threads}, bytes}, q.data(), ..., N);
//     Grid, block, dynamic shared memory: Extents x, y, z; what is left out is 1. The arguments become the kernel's
//     parameters, as in a call. A shape that a GPU would refuse is an fa::LaunchError, in the same words in both
//     worlds. launch waits for the kernel, and what went wrong in it is an fa::DeviceError of this launch.
//   fa::shared_bytes<float>(count)                   what an array of dynamic shared memory takes: a multiple of 16
//   fa::device()                                     name, SMs, shared memory, L2, HBM; .emulated
//   fa::device_bytes_taken()                         what all buffers ever took: did a launcher allocate?
//   fa::device_available(&reason)                    false in a CUDA build on a machine without a GPU
//   fa::DeviceTimer timer; timer.start(); ...        CUDA events                        a clock of the CPU
//     timer.stop()                                   seconds; waits for the device
//   fa::DeviceMeter meter; ... meter.of("q")         cannot count: every query throws   bytes and sectors since it
//                                                    std::logic_error                   was made
//   fa::DeviceMeter meter(fa::Count::banks);         likewise                           bank conflicts, too, of arrays
//     meter.shared_of("k_tile")                                                         in shared memory
//   fa::counts_bytes                                 false                              true
//   fa::set_synchronous_launches(false)              for benchmarks: launch does not    nothing changes
//                                                    wait, and memory is not poisoned

#pragma once

#ifdef FA_CUDA
#include "cuda/device.h"  // IWYU pragma: export
#else
#include "simt/device.h"  // IWYU pragma: export
#endif
