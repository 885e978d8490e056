#include "fa/tensor_core.h"
#include "test_device_tensor_core.h"

// For older GPUs, the kernels are empty, and the tests are skipped.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define FA_TENSOR_CORES 1
#else
#define FA_TENSOR_CORES 0
#endif

namespace fa::tests {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kLd = 24;  // of a tile of 16 x 16: its rows are padded by 16 bytes

template <class T, int n>
__global__ void reverse_vectors_kernel(hbm<const T> in, hbm<T> out) {
#if FA_TENSOR_CORES
  DynamicShared memory;
  const auto tile = memory.matrix<T>("tile", 4, 64);
  for (int e = n * int(threadIdx.x); e < 256; e += n * int(blockDim.x)) {
    store(&tile[e / 64][e % 64], load<n>(in + e));
  }
  __syncthreads();
  for (int e = n * int(threadIdx.x); e < 256; e += n * int(blockDim.x)) {
    const int from = 256 - n - e;
    const Vector<T, n> vector = load<n>(&tile[from / 64][from % 64]);
    store(out + e, vector);
  }
#endif
}

template <class T>
__device__ void copy_tile(SharedMatrix<T> tile, hbm<const T> in, int begin, int valid) {
#if FA_TENSOR_CORES
  for (int e = 8 * int(threadIdx.x); e < 256; e += 8 * int(blockDim.x)) {
    const int left = max(0, min(8, valid - (begin + e)));
    __pipeline_memcpy_async(&tile[e / 64][e % 64], in + (begin + e), 16, 16 - left * sizeof(T));
  }
  __pipeline_commit();
#endif
}

template <class T>
__global__ void copy_tiles_kernel(hbm<const T> in, hbm<T> out, int count, int valid) {
#if FA_TENSOR_CORES
  DynamicShared memory;
  const SharedMatrix<T> tiles[2] = {memory.matrix<T>("tile_0", 4, 72), memory.matrix<T>("tile_1", 4, 72)};
  copy_tile<T>(tiles[0], in, 0, valid);
  for (int begin = 0, tile = 0; begin < count; begin += 256, tile = 1 - tile) {
    if (begin + 256 < count) {
      copy_tile<T>(tiles[1 - tile], in, begin + 256, valid);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int e = int(threadIdx.x); e < 256; e += int(blockDim.x)) {
      const T value = tiles[tile][e / 64][e % 64];
      out[begin + e] = value;
    }
    __syncthreads();
  }
#endif
}

template <class T>
__device__ void fill_tile(SharedMatrix<T> tile, hbm<const T> in) {
  for (int e = int(threadIdx.x); e < 256; e += 32) tile[e / 16][e % 16] = in[e];
}

template <class T, class LayoutOfB>
__global__ void wmma_kernel(hbm<const T> a, hbm<const T> b, hbm<const float> c, hbm<float> d) {
#if FA_TENSOR_CORES
  DynamicShared memory;
  const auto a_tile = memory.matrix<T>("a_tile", 16, kLd), b_tile = memory.matrix<T>("b_tile", 16, kLd);
  const auto d_tile = memory.matrix<float>("d_tile", 16, kLd);
  fill_tile<T>(a_tile, a);
  fill_tile<T>(b_tile, b);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LayoutOfB> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::load_matrix_sync(a_part, &a_tile[0][0], kLd);
  wmma::load_matrix_sync(b_part, &b_tile[0][0], kLd);
  wmma::load_matrix_sync(sums, c, 16, wmma::mem_row_major);
  wmma::mma_sync(sums, a_part, b_part, sums);
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] *= 2.0f;
  wmma::store_matrix_sync(&d_tile[0][0], sums, kLd, wmma::mem_row_major);
  __syncwarp();
  for (int e = int(threadIdx.x); e < 256; e += 32) d[e] = d_tile[e / 16][e % 16];
#endif
}

template <class T>
__global__ void mma_kernel(hbm<const T> a, hbm<const T> b, hbm<const float> c, hbm<float> d, bool columns) {
#if FA_TENSOR_CORES
  DynamicShared memory;
  const SharedMatrix<T> a_tile = memory.matrix<T>("a_tile", 16, kLd), b_tile = memory.matrix<T>("b_tile", 16, kLd);
  fill_tile<T>(a_tile, a);
  fill_tile<T>(b_tile, b);
  __syncwarp();
  mma::A<T> a_part;
  mma::B<T> b_part[2];
  mma::load(a_part, a_tile, 0, 0);
  if (columns) {
    mma::load_columns(b_part, b_tile, 0, 0);
  } else {
    mma::load_rows(b_part, b_tile, 0, 0);
  }
  const int g = int(threadIdx.x) / 4, t = int(threadIdx.x) % 4;
  for (int half = 0; half < 2; ++half) {
    mma::Accumulator sums;
    for (int i = 0; i < 4; ++i) sums.x[i] = c[(g + i / 2 * 8) * 16 + 8 * half + 2 * t + i % 2];
    mma::multiply(sums, a_part, b_part[half]);
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 16 + 8 * half + 2 * t + i % 2] = sums.x[i];
  }
#endif
}

template <class T>
__global__ void load_kernel(hbm<const T> in, hbm<unsigned> out, int row, int col) {
#if FA_TENSOR_CORES
  DynamicShared memory;
  const SharedMatrix<T> tile = memory.matrix<T>("tile", 32, 40);
  const int lane = int(threadIdx.x);
  for (int e = lane; e < 32 * 32; e += 32) tile[e / 32][e % 32] = in[e];
  __syncwarp();
  mma::A<T> a;
  mma::B<T> columns[2], rows[2];
  mma::load(a, tile, row, col);
  mma::load_columns(columns, tile, row, col);
  mma::load_rows(rows, tile, row, col);
  for (int i = 0; i < 4; ++i) {
    out[4 * lane + i] = a.pair[i];
    out[4 * (32 + lane) + i] = columns[i / 2].pair[i % 2];
    out[4 * (64 + lane) + i] = rows[i / 2].pair[i % 2];
  }
#endif
}

template <class T>
__global__ void pack_kernel(hbm<const float> in, hbm<unsigned> out, int count) {
#if FA_TENSOR_CORES
  for (int i = int(threadIdx.x); i < count; i += int(blockDim.x)) out[i] = mma::pack<T>(in[2 * i], in[2 * i + 1]);
#endif
}

__global__ void exp2_kernel(hbm<const float> x, hbm<float> out, int count) {
  for (int i = int(threadIdx.x); i < count; i += int(blockDim.x)) out[i] = exp2_fast(x[i]);
}

}  // namespace

template <class T, int n>
void reverse_vectors(const DeviceBuffer<T>& in, DeviceBuffer<T>& out) {
  launch<reverse_vectors_kernel<T, n>>({{1}, {32}, shared_bytes<T>(256)}, in.data(), out.data());
}

template <class T>
void copy_tiles(const DeviceBuffer<T>& in, DeviceBuffer<T>& out, int valid) {
  const Index bytes = 2 * shared_bytes<T>(4 * 72);
  launch<copy_tiles_kernel<T>>({{1}, {32}, bytes}, in.data(), out.data(), int(out.size()), valid);
}

template <class T>
void multiply_with_wmma(const DeviceBuffer<T>& a, const DeviceBuffer<T>& b, const DeviceBuffer<float>& c,
                        DeviceBuffer<float>& d, bool columns) {
  const LaunchShape shape{{1}, {32}, 2 * shared_bytes<T>(16 * kLd) + shared_bytes<float>(16 * kLd)};
  if (columns) {
    launch<wmma_kernel<T, wmma::col_major>>(shape, a.data(), b.data(), c.data(), d.data());
  } else {
    launch<wmma_kernel<T, wmma::row_major>>(shape, a.data(), b.data(), c.data(), d.data());
  }
}

template <class T>
void multiply_with_mma(const DeviceBuffer<T>& a, const DeviceBuffer<T>& b, const DeviceBuffer<float>& c,
                       DeviceBuffer<float>& d, bool columns) {
  const LaunchShape shape{{1}, {32}, 2 * shared_bytes<T>(16 * kLd)};
  launch<mma_kernel<T>>(shape, a.data(), b.data(), c.data(), d.data(), columns);
}

template <class T>
void load_for_mma(const DeviceBuffer<T>& in, DeviceBuffer<unsigned>& out, int row, int col) {
  launch<load_kernel<T>>({{1}, {32}, shared_bytes<T>(32 * 40)}, in.data(), out.data(), row, col);
}

template <class T>
void pack_pairs(const DeviceBuffer<float>& in, DeviceBuffer<unsigned>& out) {
  launch<pack_kernel<T>>({{1}, {32}}, in.data(), out.data(), int(out.size()));
}

void raise_two_to(const DeviceBuffer<float>& x, DeviceBuffer<float>& out) {
  launch<exp2_kernel>({{1}, {32}}, x.data(), out.data(), int(x.size()));
}

template void reverse_vectors<float, 1>(const DeviceBuffer<float>&, DeviceBuffer<float>&);
template void reverse_vectors<float, 2>(const DeviceBuffer<float>&, DeviceBuffer<float>&);
template void reverse_vectors<float, 4>(const DeviceBuffer<float>&, DeviceBuffer<float>&);
template void reverse_vectors<half, 2>(const DeviceBuffer<half>&, DeviceBuffer<half>&);
template void reverse_vectors<bfloat16, 8>(const DeviceBuffer<bfloat16>&, DeviceBuffer<bfloat16>&);

#define FA_FOR(T)                                                                                              \
  template void copy_tiles(const DeviceBuffer<T>&, DeviceBuffer<T>&, int);                                     \
  template void multiply_with_wmma(const DeviceBuffer<T>&, const DeviceBuffer<T>&, const DeviceBuffer<float>&, \
                                   DeviceBuffer<float>&, bool);                                                \
  template void multiply_with_mma(const DeviceBuffer<T>&, const DeviceBuffer<T>&, const DeviceBuffer<float>&,  \
                                  DeviceBuffer<float>&, bool);                                                 \
  template void load_for_mma(const DeviceBuffer<T>&, DeviceBuffer<unsigned>&, int, int);                       \
  template void pack_pairs<T>(const DeviceBuffer<float>&, DeviceBuffer<unsigned>&);
FA_FOR(half)
FA_FOR(bfloat16)
#undef FA_FOR

}  // namespace fa::tests
