#include "test_device_vocabulary.h"

namespace fa::tests {
namespace {

__global__ void who_kernel(hbm<Writer> out) {
  const int block = int(blockIdx.y * gridDim.x + blockIdx.x);
  out[block * int(blockDim.x) + int(threadIdx.x)] = Writer{int(blockIdx.x), int(blockIdx.y), int(threadIdx.x)};
}

__global__ void dynamic_kernel(hbm<const float> in, hbm<float> out, int rows, int columns) {
  DynamicShared memory;
  const SharedArray<double> five = memory.array<double>("five", 5);
  const SharedMatrix<float> tile = memory.matrix<float>("tile", rows, columns);
  const int count = rows * columns;
  if (threadIdx.x < 5) five[int(threadIdx.x)] = 0.0;
  for (int e = int(threadIdx.x); e < count; e += int(blockDim.x)) tile[e / columns][e % columns] = in[e];
  __syncthreads();
  for (int e = int(threadIdx.x); e < count; e += int(blockDim.x)) {
    const int from = count - 1 - e;
    out[e] = tile[from / columns][from % columns] + float(five[e % 5]);
  }
}

__global__ void static_kernel(hbm<const float> in, hbm<float> out) {
  __shared__ shared<float, 24> line;
  __shared__ shared<float, 4, 6> plane;
  __shared__ shared<float, 2, 3, 4> cube;
  const int e = int(threadIdx.x), back = 23 - e;
  line[e] = in[e];
  __syncthreads();
  plane[e / 6][e % 6] = line[back];
  __syncthreads();
  cube[e / 12][e / 4 % 3][e % 4] = plane[back / 6][back % 6];
  __syncthreads();
  out[e] = cube[back / 12][back / 4 % 3][back % 4];
}

__global__ void count_kernel(hbm<int> counter) { atomicAdd(&counter[0], 1); }

__global__ void static_and_dynamic_kernel(hbm<float> out) {
  __shared__ shared<float, 1000> tile;
  tile[0] = 1.0f;
  out[0] = tile[0];
}

template <class T>
__global__ void round_kernel(hbm<const float> in, hbm<T> rounded, hbm<float> widened, int count) {
  __shared__ shared<T, 32> line;
  const int lane = int(threadIdx.x);
  for (int e = lane; e < count; e += 32) {
    line[lane] = T(in[e]);
    const T value = line[lane];
    rounded[e] = value;
    widened[e] = float(value);
  }
}

__global__ void todo_kernel(hbm<int> out, int reach) {
  if (reach > 0) todo("Step 1: scores");
  __syncthreads();
  if (reach < 0) todo("Step 2: softmax");
  if (threadIdx.x == 0) out[int(blockIdx.x)] = 7;
}

}  // namespace

void write_who(DeviceBuffer<Writer>& out, const LaunchShape& shape) { launch<who_kernel>(shape, out.data()); }

void reverse_through_dynamic_shared(const DeviceBuffer<float>& in, DeviceBuffer<float>& out, int rows) {
  const Index bytes = shared_bytes<double>(5) + shared_bytes<float>(in.size());
  launch<dynamic_kernel>({{1}, {64}, bytes}, in.data(), out.data(), rows, int(in.size() / rows));
}

void reverse_through_static_shared(const DeviceBuffer<float>& in, DeviceBuffer<float>& out) {
  launch<static_kernel>({{1}, {24}}, in.data(), out.data());
}

void count_threads(DeviceBuffer<int>& counter, const LaunchShape& shape) {
  launch<count_kernel>(shape, counter.data());
}

void take_static_and_dynamic(DeviceBuffer<float>& out, Index shared_bytes) {
  launch<static_and_dynamic_kernel>({{1}, {1}, shared_bytes}, out.data());
}

template <class T>
void round_and_widen(const DeviceBuffer<float>& in, DeviceBuffer<T>& rounded, DeviceBuffer<float>& widened) {
  launch<round_kernel<T>>({{1}, {32}}, in.data(), rounded.data(), widened.data(), int(in.size()));
}
template void round_and_widen(const DeviceBuffer<float>&, DeviceBuffer<half>&, DeviceBuffer<float>&);
template void round_and_widen(const DeviceBuffer<float>&, DeviceBuffer<bfloat16>&, DeviceBuffer<float>&);

void meet_todo(DeviceBuffer<int>& out, int reach) { launch<todo_kernel>({{2}, {64}}, out.data(), reach); }

}  // namespace fa::tests
