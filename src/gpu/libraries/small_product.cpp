#include "gpu/libraries/small_product.h"

#include <immintrin.h>

#include <algorithm>

#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"

#define HLO_AVX512 __attribute__((target("avx512f")))

namespace hlo::gpu {
namespace {

constexpr double kMostFlop = 4e6;  // Beyond, a library's packing pays.
// What is worth handing to another thread of ours, which takes it up in a microsecond or two while it spins.
constexpr double kFlopOfPiece = 4e5;
// A tile of the result: 8 rows of two vectors are 16 accumulators, enough to hide the latency of fused multiply-adds.
constexpr int64_t kTileRows = 8, kVector = 16, kTileColumns = 2 * kVector;
constexpr int64_t kAhead = 16;  // Rows of rhs fetched before their turn.

__mmask16 MaskOf(int64_t lanes) { return static_cast<__mmask16>((1u << std::clamp<int64_t>(lanes, 0, kVector)) - 1); }

class SmallProduct : public BoundCall {
 public:
  explicit SmallProduct(const MatrixProduct& product) : p_(product) {}

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* /*scratch*/,
             void* /*packed*/) override {
    auto* const result = static_cast<float*>(results[0]);
    const int64_t tiles = (p_.n + kTileColumns - 1) / kTileColumns;
    const auto pieces = static_cast<int64_t>(std::max(1.0, Flop(p_) / kFlopOfPiece));
    ParallelFor(tiles, (tiles + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
      for (int64_t column = begin * kTileColumns; column < std::min(p_.n, end * kTileColumns); column += kTileColumns) {
        int64_t row = 0;
        for (; row + kTileRows <= p_.m; row += kTileRows) Tile<kTileRows>(operands, result, row, column);
        for (; row < p_.m; ++row) Tile<1>(operands, result, row, column);
      }
    });
    return {};
  }

 private:
  template <int Rows>
  HLO_AVX512 void Tile(std::span<void* const> operands, float* result, int64_t row, int64_t column) const {
    const float* lhs = static_cast<const float*>(operands[p_.lhs_operand]) + row * p_.lhs.row;
    const float* rhs = static_cast<const float*>(operands[p_.rhs_operand]) + column;
    const __mmask16 masks[2] = {MaskOf(p_.n - column), MaskOf(p_.n - column - kVector)};
    __m512 sums[Rows][2];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    for (int64_t k = 0; k < p_.k; ++k) {
      // Rows of rhs are far apart, which the hardware does not foresee.
      _mm_prefetch(rhs + (k + kAhead) * p_.rhs.row, _MM_HINT_T0);
      _mm_prefetch(rhs + (k + kAhead) * p_.rhs.row + kVector, _MM_HINT_T0);
      const __m512 b0 = _mm512_maskz_loadu_ps(masks[0], rhs + k * p_.rhs.row);
      const __m512 b1 = _mm512_maskz_loadu_ps(masks[1], rhs + k * p_.rhs.row + kVector);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const __m512 a = _mm512_set1_ps(lhs[r * p_.lhs.row + k * p_.lhs.column]);
        sums[r][0] = _mm512_fmadd_ps(a, b0, sums[r][0]);
        sums[r][1] = _mm512_fmadd_ps(a, b1, sums[r][1]);
      }
    }
    for (const MatrixStep& step : p_.epilogue) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        sums[r][0] = Apply(step, operands, sums[r][0], masks[0], row + r, column);
        sums[r][1] = Apply(step, operands, sums[r][1], masks[1], row + r, column + kVector);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float* to = result + (row + r) * p_.result.row + column;
      _mm512_mask_storeu_ps(to, masks[0], sums[r][0]);
      _mm512_mask_storeu_ps(to + kVector, masks[1], sums[r][1]);
    }
  }

  HLO_AVX512 static __m512 Apply(const MatrixStep& step, std::span<void* const> operands, __m512 x, __mmask16 mask,
                                 int64_t row, int64_t column) {
    // NaN stays: the second operand is what max gives when either is NaN.
    if (step.op == EpilogueOp::kRelu) return _mm512_max_ps(_mm512_setzero_ps(), x);
    __m512 y = _mm512_set1_ps(static_cast<float>(step.constant));
    if (step.operand >= 0) {
      const float* at = static_cast<const float*>(operands[step.operand]) + row * step.strides.row;
      y = step.strides.column == 0 ? _mm512_set1_ps(*at) : _mm512_maskz_loadu_ps(mask, at + column);
    }
    switch (step.op) {
      case EpilogueOp::kAdd: return _mm512_add_ps(x, y);
      case EpilogueOp::kSubtract: return _mm512_sub_ps(x, y);
      default: return _mm512_mul_ps(x, y);
    }
  }

  const MatrixProduct& p_;
};

class SmallProductCall : public LibraryCall {
 public:
  explicit SmallProductCall(const MatrixProduct& product) : product_(product) {}

  std::string how() const override { return "unpacked, AVX-512"; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& /*device*/) const override {
    return std::make_unique<SmallProduct>(product_);
  }

 private:
  MatrixProduct product_;
};

// Empty: nothing but the processor can be against it.
std::string WhyNot(const MatrixProduct& product) {
  for (const PrimitiveType type : {product.lhs_type, product.rhs_type, product.result_type}) {
    if (type != PrimitiveType::kF32) return Str("it is for f32 only, not ", type);
  }
  const double flop = Flop(product);
  if (flop == 0) return "it is empty";
  if (product.batch != 1) return "it is a batch of products";
  if (flop > kMostFlop) return Format("it is for %.0f million operations at most", kMostFlop / 1e6);
  const bool rows = (product.rhs.column == 1 || product.n == 1) && (product.result.column == 1 || product.n == 1);
  if (!rows) return "neighbours in a row of rhs or of the result are apart";
  for (const MatrixStep& step : product.epilogue) {
    if (step.op != EpilogueOp::kRelu && step.operand >= 0 && step.strides.column != 0 && step.strides.column != 1)
      return "neighbours in a row of an operand of its epilogue are apart";
  }
  return "";
}

}  // namespace

LibraryAnswer SmallMatrixProduct(const MatrixProduct& product, bool open) {
  std::string why_not = WhyNot(product);
  if (why_not.empty() && open && !MayUseAvx512()) why_not = "it is for AVX-512";
  if (!why_not.empty() || !open) return {nullptr, std::move(why_not)};
  return {std::make_unique<SmallProductCall>(product), ""};
}

}  // namespace hlo::gpu
