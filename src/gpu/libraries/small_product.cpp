#include "gpu/libraries/small_product.h"

#include <immintrin.h>

#include <algorithm>

#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"

namespace hlo::gpu {
namespace {

constexpr double kMostFlop = 4e6;  // A library's packing pays for larger products.
// Work that is worth another thread.
constexpr double kFlopOfPiece = 4e5;
constexpr int64_t kAhead = 16;  // Distance of the prefetched row of rhs.

// The tile's sums and operands fit into the registers.
namespace avx2 {

struct Simd {
  using Vector = __m256;
  using Mask = __m256i;
  static constexpr int64_t kLanes = 8;
  static constexpr int kTileRows = 4, kTileVectors = 3;
  static constexpr int64_t kTileColumns = kTileVectors * kLanes;
  // Prefetched columns, each in another cache line.
  static constexpr int64_t kFetched[] = {kTileColumns - 1};

  static Mask MaskOf(int64_t lanes) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(std::clamp<int64_t>(lanes, 0, kLanes))), numbers);
  }
  static Vector Zero() { return _mm256_setzero_ps(); }
  static Vector All(float x) { return _mm256_set1_ps(x); }
  static Vector Load(const float* from) { return _mm256_loadu_ps(from); }
  static Vector Load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void Store(float* to, Mask mask, Vector x) { _mm256_maskstore_ps(to, mask, x); }
  static Vector MultiplyAdd(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
  static Vector Max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
};
#define HLO_TARGET
#include "gpu/libraries/small_product_tiles.def"
#undef HLO_TARGET

}  // namespace avx2

namespace avx512 {

#define HLO_TARGET __attribute__((target("avx512f")))
struct Simd {
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int64_t kLanes = 16;
  static constexpr int kTileRows = 8, kTileVectors = 2;
  static constexpr int64_t kTileColumns = kTileVectors * kLanes;
  static constexpr int64_t kFetched[] = {0, kLanes};

  static Mask MaskOf(int64_t lanes) { return static_cast<Mask>((1u << std::clamp<int64_t>(lanes, 0, kLanes)) - 1); }
  HLO_TARGET static Vector Zero() { return _mm512_setzero_ps(); }
  HLO_TARGET static Vector All(float x) { return _mm512_set1_ps(x); }
  HLO_TARGET static Vector Load(const float* from) { return _mm512_loadu_ps(from); }
  HLO_TARGET static Vector Load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  HLO_TARGET static void Store(float* to, Mask mask, Vector x) { _mm512_mask_storeu_ps(to, mask, x); }
  HLO_TARGET static Vector MultiplyAdd(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
  HLO_TARGET static Vector Max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
};
#include "gpu/libraries/small_product_tiles.def"
#undef HLO_TARGET

}  // namespace avx512

class SmallProduct : public BoundCall {
 public:
  explicit SmallProduct(const MatrixProduct& product) : p_(product), use_avx512_(MayUseAvx512()) {}

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* /*scratch*/,
             void* /*packed*/) override {
    auto* const result = static_cast<float*>(results[0]);
    const int64_t columns = use_avx512_ ? avx512::Simd::kTileColumns : avx2::Simd::kTileColumns;
    const int64_t tiles = (p_.n + columns - 1) / columns;
    const auto pieces = static_cast<int64_t>(std::max(1.0, Flop(p_) / kFlopOfPiece));
    ParallelFor(tiles, (tiles + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
      (use_avx512_ ? avx512::Tiles : avx2::Tiles)(p_, operands, result, begin, end);
    });
    return {};
  }

 private:
  const MatrixProduct& p_;
  const bool use_avx512_;
};

class SmallProductCall : public LibraryCall {
 public:
  explicit SmallProductCall(const MatrixProduct& product) : product_(product) {}

  std::string how() const override { return MayUseAvx512() ? "unpacked, AVX-512" : "unpacked, AVX2"; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& /*device*/) const override {
    return std::make_unique<SmallProduct>(product_);
  }

 private:
  MatrixProduct product_;
};

// AVX2 code is faster than oneDNN 2.6 for 2 to 15 rows, which oneDNN computes with one thread
// (bench/results/products.md#small-products).
bool IsForAvx2(const MatrixProduct& product) {
  return product.m > 1 && product.m < 16 && product.n >= 2 * avx2::Simd::kTileColumns &&
         Flop(product) >= 2 * kFlopOfPiece;
}

std::string WhyNot(const MatrixProduct& product) {
  for (const PrimitiveType type : {product.lhs_type, product.rhs_type, product.result_type}) {
    if (type != PrimitiveType::kF32) return Str("its kernels are only for f32, not ", type);
  }
  const double flop = Flop(product);
  if (flop == 0) return "the product is empty";
  if (product.batch != 1) return "the product is a batch";
  if (flop > kMostFlop) return Format("its kernels are for at most %.0f million operations", kMostFlop / 1e6);
  const bool rows = (product.rhs.column == 1 || product.n == 1) && (product.result.column == 1 || product.n == 1);
  if (!rows) return "rows of rhs or of the result are not contiguous";
  for (const MatrixStep& step : product.epilogue) {
    if (step.op != EpilogueOp::kRelu && step.operand >= 0 && step.strides.column != 0 && step.strides.column != 1)
      return "rows of an operand of the epilogue are not contiguous";
  }
  return "";
}

}  // namespace

LibraryAnswer SmallMatrixProduct(const MatrixProduct& product, const LibraryOptions* options) {
  std::string why_not = WhyNot(product);
  if (why_not.empty() && options && options->library.empty() && !MayUseAvx512() && !IsForAvx2(product))
    why_not = "with AVX2 its kernels are only for products with 2 to 15 rows and enough work for two threads";
  if (!why_not.empty() || !options) return {nullptr, std::move(why_not)};
  return {std::make_unique<SmallProductCall>(product), ""};
}

}  // namespace hlo::gpu
