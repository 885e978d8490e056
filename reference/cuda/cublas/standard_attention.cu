#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/cublas/softmax.h"
#include "cuda/cublas/standard_attention.h"
#include "fa/device_error.h"
#include "fa/inputs.h"
#include "fa/place.h"

namespace fa {
namespace {

void check(cublasStatus_t status, const char* call, Place where = Place::here()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(to_string(where) + ": " + call + ": " + cublasGetStatusString(status));
}

class Cublas {
 public:
  Cublas() {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");  // fp32 stays fp32: no TF32
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  operator cublasHandle_t() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

const Cublas& cublas() {
  static const Cublas instance;
  return instance;
}

// c = alpha · a b, or alpha · a bᵀ, for `batch` matrices one after another, all row-major: c (rows, columns),
// a (rows, inner), b (inner, columns) or, transposed, (columns, inner).
//
// cuBLAS takes matrices column by column, so what it sees are the transposed ones: cᵀ = bᵀ aᵀ. Hence b goes first.
struct Product {
  Index batch, rows, columns, inner;
  float alpha;
  bool b_transposed;
};

template <class T>
constexpr cudaDataType type = CUDA_R_32F;
template <>
constexpr cudaDataType type<half> = CUDA_R_16F;
template <>
constexpr cudaDataType type<bfloat16> = CUDA_R_16BF;

template <class T>
void multiply(const T* a, const T* b, T* c, const Product& p) {
  const float zero = 0.0f;
  const int row_of_b = static_cast<int>(p.b_transposed ? p.inner : p.columns);
  check(cublasGemmStridedBatchedEx(
            cublas(), p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(p.columns),
            static_cast<int>(p.rows), static_cast<int>(p.inner), &p.alpha, b, type<T>, row_of_b, p.columns * p.inner, a,
            type<T>, static_cast<int>(p.inner), p.rows * p.inner, &zero, c, type<T>, static_cast<int>(p.columns),
            p.rows * p.columns, static_cast<int>(p.batch), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace

template <class T>
void cublas_standard_attention(hbm<const T> q, hbm<const T> k, hbm<const T> v, hbm<T> out, const Shape& shape,
                               const Options& options, DeviceScratch& scratch) {
  validate(shape, options);
  if (shape.Nq == 0) throw std::invalid_argument("Nq = 0: must be at least 1");
  if (shape.Nk == 0) throw std::invalid_argument("Nk = 0: must be at least 1");
  if (heads(shape) > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("B · H = " + std::to_string(heads(shape)) + ": must be below 2^31");
  }
  DeviceBuffer<T> s = scratch.allocate<T>("S", score_elements(shape));

  // Step 1: S = scale · Q Kᵀ
  multiply<T>(q, k, s.data(), {heads(shape), shape.Nq, shape.Nk, shape.D, scale_of(shape, options), true});

  // Step 2: P = softmax(S), in the place of S
  softmax_in_place<T>(s.data(), shape, options);

  // Step 3: out = P V
  multiply<T>(s.data(), v, out, {heads(shape), shape.Nq, shape.D, shape.Nk, 1.0f, false});
}

template <class T>
double cublas_peak() {
  constexpr Index n = std::is_same_v<T, float> ? 4096 : 8192;
  const auto random = [](std::uint64_t seed) {
    const std::vector<float> values = normal_values(n * n, seed);
    return std::vector<T>(values.begin(), values.end());
  };
  const DeviceBuffer<T> a("a", random(1)), b("b", random(2));
  DeviceBuffer<T> c("c", n * n);
  const Product product{.batch = 1, .rows = n, .columns = n, .inner = n, .alpha = 1.0f, .b_transposed = false};
  double best = std::numeric_limits<double>::infinity();
  DeviceTimer timer;
  for (int round = -3; round < 10; ++round) {
    timer.start();
    multiply<T>(a.data(), b.data(), c.data(), product);
    const double seconds = timer.stop();
    if (round >= 0) best = std::min(best, seconds);  // the rounds before warm up
  }
  return 2.0 * double(n) * double(n) * double(n) / best;
}

#define FA_INSTANTIATE(T)                                                                                    \
  template void cublas_standard_attention<T>(hbm<const T>, hbm<const T>, hbm<const T>, hbm<T>, const Shape&, \
                                             const Options&, DeviceScratch&);                                \
  template double cublas_peak<T>()
FA_INSTANTIATE(float);
FA_INSTANTIATE(half);
FA_INSTANTIATE(bfloat16);
#undef FA_INSTANTIATE

}  // namespace fa
