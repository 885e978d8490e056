// Bank conflicts of accesses to several elements at once: vectors, matrices for tensor cores, asynchronous copies.

#include "fa/half.h"
#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

using fa::BankCount;
using fa::half;
using fa::simt::in_each_order;

// A tile of rows x columns of which `Loads::load(tile)` takes what it wants, by one warp.
template <class T, class Loads>
__global__ void load_kernel(int rows, int columns, int stride) {
  fa::DynamicShared memory;
  const auto tile = memory.matrix<T>("tile", rows, stride);
  const int lane = int(threadIdx.x);
  for (int e = lane; e < rows * columns; e += 32) tile[e / columns][e % columns] = T{};
  __syncwarp();
  Loads::load(tile);
}

template <class T, class Loads>
BankCount loads_of(int rows, int columns, int stride) {
  const fa::DeviceMeter meter(fa::Count::banks);
  fa::launch<load_kernel<T, Loads>>({{1}, {32}, fa::shared_bytes<T>(rows * stride)}, rows, columns, stride);
  return meter.shared_of("tile").loads;
}

// Lane i loads a vector from row i % rows; lanes of one row load neighbors.
template <class T, int n, int rows>
struct Vectors {
  static void load(const fa::SharedMatrix<T>& tile) {
    const int lane = int(threadIdx.x);
    fa::load<n>(&tile[lane % rows][lane / rows * n]);
  }
};

struct MmaA {
  static void load(const fa::SharedMatrix<half>& tile) {
    fa::mma::A<half> a;
    fa::mma::load(a, tile, 0, 16);
  }
};
struct MmaColumns {
  static void load(const fa::SharedMatrix<half>& tile) {
    fa::mma::B<half> b[2];
    fa::mma::load_columns(b, tile, 0, 16);
  }
};
struct MmaRows {
  static void load(const fa::SharedMatrix<half>& tile) {
    fa::mma::B<half> b[2];
    fa::mma::load_rows(b, tile, 0, 16);
  }
};
struct Wmma {
  static void load(const fa::SharedMatrix<half>& tile) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
    const auto apart = unsigned((&tile[1][0]).index() - (&tile[0][0]).index());
    nvcuda::wmma::load_matrix_sync(a, &tile[0][0], apart);
  }
};

}  // namespace

TEST_CASE("banks: vectors of 8 bytes are served by half-warps, of 16 bytes by quarter-warps") {
  in_each_order([] {
    CHECK(loads_of<float, Vectors<float, 2, 1>>(1, 64, 64) == BankCount{1, 2, 0});  // neighbors
    CHECK(loads_of<float, Vectors<float, 4, 1>>(1, 128, 128) == BankCount{1, 4, 0});
    CHECK(loads_of<half, Vectors<half, 2, 1>>(1, 64, 64) == BankCount{1, 1, 0});
    CHECK(loads_of<float, Vectors<float, 2, 32>>(32, 32, 32) == BankCount{1, 32, 30});  // the same banks for all
    CHECK(loads_of<float, Vectors<float, 4, 32>>(32, 32, 32) == BankCount{1, 32, 28});
    CHECK(loads_of<float, Vectors<float, 2, 32>>(32, 32, 34) == BankCount{1, 2, 0});  // rows padded by a vector
    CHECK(loads_of<float, Vectors<float, 4, 32>>(32, 32, 36) == BankCount{1, 4, 0});
    CHECK(loads_of<float, Vectors<float, 4, 32>>(32, 32, 40) == BankCount{1, 8, 4});  // by two: rows 0 and 4 meet
  });
}

TEST_CASE("banks: rows of 64 halves meet in the banks when a matrix is loaded, and 8 more keep them apart") {
  in_each_order([] {
    CHECK(loads_of<half, Vectors<half, 8, 16>>(16, 64, 64) == BankCount{1, 32, 28});  // 128 bytes from row to row
    CHECK(loads_of<half, Vectors<half, 8, 16>>(16, 64, 72) == BankCount{1, 4, 0});    // 144 bytes
    CHECK(loads_of<half, Vectors<half, 8, 16>>(16, 32, 32) == BankCount{1, 16, 12});  // 64 bytes: every other row
    CHECK(loads_of<half, Vectors<half, 8, 16>>(16, 128, 136) == BankCount{1, 4, 0});
  });
}

TEST_CASE("banks: what loads a matrix for tensor cores is one instruction with 16 bytes a lane") {
  in_each_order([] {
    CHECK(loads_of<half, MmaA>(16, 64, 64) == BankCount{1, 32, 28});
    CHECK(loads_of<half, MmaA>(16, 64, 72) == BankCount{1, 4, 0});
    CHECK(loads_of<half, MmaColumns>(16, 64, 64) == BankCount{1, 32, 28});
    CHECK(loads_of<half, MmaColumns>(16, 64, 72) == BankCount{1, 4, 0});
    CHECK(loads_of<half, MmaRows>(16, 64, 64) == BankCount{1, 32, 28});
    CHECK(loads_of<half, MmaRows>(16, 64, 72) == BankCount{1, 4, 0});
    CHECK(loads_of<half, Wmma>(16, 64, 64) == BankCount{1, 32, 28});
    CHECK(loads_of<half, Wmma>(16, 64, 72) == BankCount{1, 4, 0});
  });
}

namespace {

// Copies 8 halves a lane into 8 rows, 4 lanes a row.
__global__ void copy_kernel(fa::hbm<const half> in, fa::hbm<half> out) {
  __shared__ fa::shared<half, 8, 64> tile;
  const int lane = int(threadIdx.x), row = lane / 4, column = lane % 4 * 8;
  __pipeline_memcpy_async(&tile[row][column], in + lane * 8, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[lane] = tile[row][column];
}

}  // namespace

TEST_CASE("banks: an asynchronous copy is a store") {
  const fa::DeviceBuffer<half> in("in", std::vector<half>(256, half(1.0f)));
  fa::DeviceBuffer<half> out("out", 32);
  const fa::DeviceMeter meter(fa::Count::banks);
  fa::launch<copy_kernel>({{1}, {32}}, in.data(), out.data());
  CHECK(meter.shared_of("tile").stores == BankCount{1, 8, 4});  // two rows in a quarter-warp: the same 16 banks
  CHECK(meter.shared_of("tile").loads == BankCount{1, 8, 7});   // 8 rows, one word each, of four banks
}
