// Bounds of sums of products, for dot and convolution. The rule: docs/comparison.md#sums.
//
// Let A = |a| + e_a and B = |b| + e_b. Permitted products are within A B - |a||b| of a b, and at most A B. So three
// sums give value and bound: of a b, of |a||b| and of A B. One run of MultiplyBlock computes the first two, and a
// second run on A and B the third.
#include <immintrin.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/parallel.h"
#include "judge/bounds/contract.h"
#include "judge/bounds/elements.h"

namespace hlo::shadow {
namespace {

// Tiles of two rows by eight columns are in registers, blocks of 64 by 64 results and 256 terms in the cache.
constexpr int64_t kRows = 2, kColumns = 8;
constexpr int64_t kBlock = 64, kTerms = 256;

void Tile(const double* rows, const double* columns, int64_t terms, double* values, double* sizes) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  __m256d v[2][2], m[2][2];
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      v[r][c] = _mm256_loadu_pd(values + r * kBlock + 4 * c);
      m[r][c] = _mm256_loadu_pd(sizes + r * kBlock + 4 * c);
    }
  }
  for (int64_t k = 0; k < terms; ++k) {
    const __m256d b0 = _mm256_load_pd(columns + 8 * k), b1 = _mm256_load_pd(columns + 8 * k + 4);
    const __m256d size_b0 = _mm256_andnot_pd(sign, b0), size_b1 = _mm256_andnot_pd(sign, b1);
    for (int r = 0; r < 2; ++r) {
      const __m256d a = _mm256_broadcast_sd(rows + 2 * k + r);
      const __m256d size_a = _mm256_andnot_pd(sign, a);
      v[r][0] = _mm256_fmadd_pd(a, b0, v[r][0]);
      v[r][1] = _mm256_fmadd_pd(a, b1, v[r][1]);
      m[r][0] = _mm256_fmadd_pd(size_a, size_b0, m[r][0]);
      m[r][1] = _mm256_fmadd_pd(size_a, size_b1, m[r][1]);
    }
  }
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      _mm256_storeu_pd(values + r * kBlock + 4 * c, v[r][c]);
      _mm256_storeu_pd(sizes + r * kBlock + 4 * c, m[r][c]);
    }
  }
}

struct Factors {
  const double* left;
  const double* right;
};

struct Block {
  alignas(64) double values[kBlock * kBlock];
  alignas(64) double sizes[kBlock * kBlock];
};

struct Packing {
  alignas(64) double rows[kBlock * kTerms];
  alignas(64) double columns[kBlock * kTerms];
  std::vector<int64_t> bases;
};

void MultiplyBlock(const Contraction& c, const Factors& factors, int64_t group, int64_t row, int64_t rows,
                   int64_t column, int64_t columns, Packing& packing, Block& block) {
  std::fill_n(block.values, kBlock * kBlock, 0.0);
  std::fill_n(block.sizes, kBlock * kBlock, 0.0);
  const int64_t run = static_cast<int64_t>(c.left_offset.size());
  const int64_t padded_rows = (rows + kRows - 1) / kRows * kRows,
                padded_columns = (columns + kColumns - 1) / kColumns * kColumns;
  for (int64_t first = 0; first < c.terms; first += kTerms) {
    const int64_t terms = std::min(kTerms, c.terms - first);
    for (int64_t r = 0; r < padded_rows; ++r) {
      double* to = packing.rows + r / kRows * kRows * terms + r % kRows;
      const int64_t* bases = packing.bases.data() + r * c.positions;
      for (int64_t k = 0; k < terms;) {
        const int64_t position = (first + k) / run, within = (first + k) % run;
        const int64_t length = std::min(terms - k, run - within);
        const int64_t base = r < rows ? bases[position] : -1;
        const int64_t* offset = c.left_offset.data() + within;
        for (int64_t i = 0; i < length; ++i) to[(k + i) * kRows] = base < 0 ? 0 : factors.left[base + offset[i]];
        k += length;
      }
    }
    for (int64_t n = 0; n < padded_columns; ++n) {
      double* to = packing.columns + n / kColumns * kColumns * terms + n % kColumns;
      if (n >= columns) {
        for (int64_t k = 0; k < terms; ++k) to[k * kColumns] = 0;
        continue;
      }
      const double* from = factors.right + c.right_group[group] + c.right_column[column + n];
      const int64_t* offset = c.right_term.data() + first;
      for (int64_t k = 0; k < terms; ++k) to[k * kColumns] = from[offset[k]];
    }
    for (int64_t n = 0; n < padded_columns; n += kColumns) {
      for (int64_t r = 0; r < padded_rows; r += kRows) {
        Tile(packing.rows + r * terms, packing.columns + n * terms, terms, block.values + r * kBlock + n,
             block.sizes + r * kBlock + n);
      }
    }
  }
}

// The values of an operand, and its magnitudes plus bounds if it has bounds. A magnitude is infinite if rounding may
// overflow or the element is certainly NaN, and NaN if the element is undetermined.
class Operand {
 public:
  Operand(const ShadowValue& x, const Rounding& rounding) : value_(Values(x.value)) {
    const int64_t count = x.shape.NumElements();
    const double* bound = BoundsOrNull(x.bound);
    const double* likely = BoundsOrNull(x.likely);
    if (bound == nullptr && std::isinf(rounding.overflow)) return;
    const auto sizes = [&](const double* e) {
      std::vector<double> size(count);
      ParallelFor(count, 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double s = (std::fabs(value_[i]) + (e ? e[i] : 0)) * kUp;
          size[i] = s >= rounding.overflow ? kInfinity : s + HalfUlp(rounding, s);
          if (std::isnan(value_[i]) && (e == nullptr || e[i] == 0)) size[i] = kInfinity;
        }
      });
      return size;
    };
    sizes_ = sizes(bound);
    if (likely) likely_ = sizes(likely);
  }

  bool HasBounds() const { return !sizes_.empty(); }
  bool HasLikely() const { return !likely_.empty(); }
  const double* value() const { return value_; }
  const double* sizes() const { return sizes_.empty() ? value_ : sizes_.data(); }
  const double* likely() const { return likely_.empty() ? sizes() : likely_.data(); }

 private:
  const double* value_;
  std::vector<double> sizes_, likely_;
};

// `value` is the sum of a b, `exact_sizes` of |a||b|, and `sizes` of A B.
Bounds Finished(const SumRule& rule, double overflow, double value, double exact_sizes, double sizes,
                double likely_sizes) {
  const double bounds = std::max(0.0, sizes - exact_sizes), likely_bounds = std::max(0.0, likely_sizes - exact_sizes);
  if (!std::isfinite(value)) return {value, std::isfinite(exact_sizes) ? kUndetermined : 0, 0};
  if (!std::isfinite(sizes)) return {0, kUndetermined, kUndetermined};
  const double worst = rule.Worst(value, bounds, sizes);
  if (OverflowIsOpen(value, worst, sizes, overflow)) return {value, kUndetermined, kUndetermined};
  if (rule.RoundsOnGrid(value, worst))
    return RoundedOnGrid(rule.finish, value, rule.WorstBefore(bounds, sizes),
                         rule.LikelyBefore(likely_bounds, likely_sizes));
  const Pair pair = AfterOverflow(rule.finish, value, worst);
  return {pair.value, pair.bound,
          std::isfinite(pair.bound) ? std::min(pair.bound, rule.Likely(value, likely_bounds, likely_sizes))
                                    : kUndetermined};
}

void FillBases(const Contraction& c, int64_t group, int64_t row, int64_t rows, std::vector<int64_t>& bases) {
  bases.resize(kBlock * c.positions);
  for (int64_t r = 0; r < rows; ++r) c.left_bases(group, row + r, bases.data() + r * c.positions);
}

// The factor of term k is values[at[k]].
struct Column {
  const double *values, *sizes, *likely;
  const int64_t* at;
};

// Four independent chains, so that no addition waits for the previous one.
class Sums {
 public:
  void Add(const double* left, const int64_t* left_at, const double* right, const int64_t* right_at, int64_t terms) {
    int64_t k = 0;
    for (; k + 4 <= terms; k += 4) {
      for (int64_t i = 0; i < 4; ++i) AddTo(i, left[left_at[k + i]] * right[right_at[k + i]]);
    }
    for (; k < terms; ++k) AddTo(0, left[left_at[k]] * right[right_at[k]]);
  }
  double value() const { return (values_[0] + values_[1]) + (values_[2] + values_[3]); }
  double size() const { return (sizes_[0] + sizes_[1]) + (sizes_[2] + sizes_[3]); }

 private:
  void AddTo(int64_t i, double product) {
    values_[i] += product;
    sizes_[i] += std::fabs(product);
  }
  double values_[4] = {}, sizes_[4] = {};
};

// Returns nullopt if a term is infinite or NaN.
std::optional<Bounds> OneFiniteResult(const Contraction& c, const Operand& left, const Column& right,
                                      const SumRule& rule, double overflow, const int64_t* bases) {
  const int64_t run = static_cast<int64_t>(c.left_offset.size());
  const auto sum = [&](const double* a, const double* b) {
    Sums sums;
    for (int64_t k = 0; k < c.terms; k += run) {
      if (bases[k / run] >= 0) sums.Add(a + bases[k / run], c.left_offset.data(), b, right.at + k, run);
    }
    return sums;
  };
  for (int64_t k = 0; k < c.terms; k += run) {
    if (bases[k / run] >= 0) continue;
    for (int64_t i = k; i < k + run; ++i) {
      if (!std::isfinite(right.values[right.at[i]])) return std::nullopt;
    }
  }
  const Sums exact = sum(left.value(), right.values);
  if (!std::isfinite(exact.size())) return std::nullopt;
  const bool bounded = left.HasBounds() || right.sizes != right.values;
  const bool likely = left.HasLikely() || right.likely != right.sizes;
  const double sizes = bounded ? sum(left.sizes(), right.sizes).size() : exact.size();
  return Finished(rule, overflow, exact.value(), exact.size(), sizes,
                  likely ? sum(left.likely(), right.likely).size() : sizes);
}

// Whether x may be zero or have either sign, except for exact zeros. `size` is |x| plus its bound, or NaN if x is
// undetermined.
bool SignIsOpen(double x, double size) { return std::isnan(size) || (x == 0 ? size != 0 : size >= 2 * std::fabs(x)); }

bool IsCertainNaN(double x, double size, bool is_bounded) { return std::isnan(x) && !(is_bounded && std::isnan(size)); }

Bounds OneResult(const Contraction& c, const Operand& left, const Column& right, const SumRule& rule, double overflow,
                 const int64_t* bases) {
  if (const auto result = OneFiniteResult(c, left, right, rule, overflow, bases)) return *result;
  const int64_t run = static_cast<int64_t>(c.left_offset.size());
  double value = 0, exact = 0, finite = 0, sizes = 0, likely = 0;
  bool open = false, beyond = false, nan = false, has_infinity[2] = {};  // By sign.
  for (int64_t k = 0; k < c.terms; ++k) {
    const int64_t base = bases[k / run], b = right.at[k];
    // An implementation may skip padding or multiply by zeros.
    if (base < 0) {
      open |= !std::isfinite(right.values[b]);
      continue;
    }
    const int64_t a = base + c.left_offset[k % run];
    const double product = left.value()[a] * right.values[b];
    const bool finite_factors = std::isfinite(left.value()[a]) && std::isfinite(right.values[b]);
    if (IsCertainNaN(left.value()[a], left.sizes()[a], left.HasBounds()) ||
        IsCertainNaN(right.values[b], right.sizes[b], right.sizes != right.values)) {
      nan = true;
    } else if (SignIsOpen(left.value()[a], left.sizes()[a]) || SignIsOpen(right.values[b], right.sizes[b])) {
      // Bounds describe only products of finite factors.
      open |= !std::isfinite(product) || std::isnan(left.sizes()[a] * right.sizes[b]);
    } else if (!std::isfinite(product)) {
      (std::isnan(product) ? nan : finite_factors ? beyond : has_infinity[product < 0]) = true;
    }
    value += product;
    exact += std::fabs(product);
    if (std::isfinite(product)) finite += std::fabs(left.sizes()[a] * right.sizes[b]);
    sizes += std::fabs(left.sizes()[a] * right.sizes[b]);
    likely += std::fabs(left.likely()[a] * right.likely[b]);
  }
  nan |= has_infinity[0] && has_infinity[1];
  // The finite terms may first overflow to the opposite infinity, in this order or in another.
  open |= std::isnan(value) || (std::isinf(value) && !(finite < overflow));
  // A product of finite factors that overflows f64 is infinite when rounded, but not in an fma. Only another infinity
  // of its sign determines the sum.
  open |= beyond && !has_infinity[0] && !has_infinity[1];
  if (nan) return {std::numeric_limits<double>::quiet_NaN(), 0, 0};
  if (open) return {value, kUndetermined, kUndetermined};
  return Finished(rule, overflow, value, exact, sizes, likely);
}

Column ColumnOf(const Contraction& c, const Operand& right, int64_t group, int64_t column) {
  const int64_t base = c.right_group[group] + c.right_column[column];
  return {right.value() + base, right.sizes() + base, right.likely() + base, c.right_term.data()};
}

void MultiplyAll(const Contraction& c, const Operand& left, const Operand& right, const SumRule& rule, double overflow,
                 const Sink& out) {
  const bool bounded = left.HasBounds() || right.HasBounds();
  const bool likely = left.HasLikely() || right.HasLikely();
  const int64_t row_blocks = (c.rows + kBlock - 1) / kBlock, column_blocks = (c.columns + kBlock - 1) / kBlock;
  ParallelFor(c.groups * row_blocks * column_blocks, 1, [&](int64_t begin, int64_t end) {
    auto packing = std::make_unique<Packing>();
    std::unique_ptr<Block> blocks[3] = {std::make_unique<Block>(), bounded ? std::make_unique<Block>() : nullptr,
                                        likely ? std::make_unique<Block>() : nullptr};
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / (row_blocks * column_blocks);
      const int64_t row = task % (row_blocks * column_blocks) / column_blocks * kBlock,
                    column = task % column_blocks * kBlock;
      const int64_t rows = std::min(kBlock, c.rows - row), columns = std::min(kBlock, c.columns - column);
      FillBases(c, group, row, rows, packing->bases);
      const auto multiply = [&](const double* a, const double* b, Block& block) {
        MultiplyBlock(c, {a, b}, group, row, rows, column, columns, *packing, block);
      };
      multiply(left.value(), right.value(), *blocks[0]);
      if (bounded) multiply(left.sizes(), right.sizes(), *blocks[1]);
      if (likely) multiply(left.likely(), right.likely(), *blocks[2]);
      const double* sizes = bounded ? blocks[1]->sizes : blocks[0]->sizes;
      const double* likely_sizes = likely ? blocks[2]->sizes : sizes;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = c.result_row(group, row + r);
        for (int64_t n = 0; n < columns; ++n) {
          const int64_t i = r * kBlock + n;
          // The block treated padding as zeros, which OneResult skips.
          if (!std::isfinite(blocks[0]->values[i])) {
            out.Put(at + c.result_column[group * c.columns + column + n],
                    OneResult(c, left, ColumnOf(c, right, group, column + n), rule, overflow,
                              packing->bases.data() + r * c.positions));
            continue;
          }
          out.Put(at + c.result_column[group * c.columns + column + n],
                  Finished(rule, overflow, blocks[0]->values[i], blocks[0]->sizes[i], sizes[i], likely_sizes[i]));
        }
      }
    }
  });
}

// Packs the factors of neighbouring columns, which often share cache lines.
class Strip {
 public:
  static constexpr int64_t kColumns = 8;

  Strip(const Contraction& c, const Operand& right) : c_(c), right_(right), is_packed_(c.terms <= kMostTerms) {
    if (!is_packed_) return;
    in_order_.resize(c.terms);
    std::iota(in_order_.begin(), in_order_.end(), 0);
  }

  void Pack(int64_t group, int64_t first, int64_t columns) {
    group_ = group;
    first_ = first;
    if (!is_packed_) return;
    const auto pack = [&](const double* from, std::vector<double>& to) {
      to.resize(columns * c_.terms);
      for (int64_t k = 0; k < c_.terms; ++k) {
        for (int64_t n = 0; n < columns; ++n)
          to[n * c_.terms + k] = from[c_.right_group[group] + c_.right_column[first + n] + c_.right_term[k]];
      }
    };
    pack(right_.value(), values_);
    if (right_.HasBounds()) pack(right_.sizes(), sizes_);
    if (right_.HasLikely()) pack(right_.likely(), likely_);
  }

  Column Of(int64_t column) const {
    if (!is_packed_) return ColumnOf(c_, right_, group_, column);
    const int64_t begin = (column - first_) * c_.terms;
    const double* values = values_.data() + begin;
    const double* sizes = right_.HasBounds() ? sizes_.data() + begin : values;
    return {values, sizes, right_.HasLikely() ? likely_.data() + begin : sizes, in_order_.data()};
  }

 private:
  static constexpr int64_t kMostTerms = int64_t{1} << 16;

  const Contraction& c_;
  const Operand& right_;
  const bool is_packed_;
  std::vector<int64_t> in_order_;
  std::vector<double> values_, sizes_, likely_;
  int64_t group_ = 0, first_ = 0;
};

void MultiplyWanted(const Contraction& c, const Operand& left, const Operand& right, const SumRule& rule,
                    double overflow, const std::vector<int64_t>& at, const Sink& out) {
  std::vector<bool> wanted(at.empty() ? 0 : at.back() + 1);
  for (const int64_t index : at) wanted[index] = true;
  const int64_t strips = (c.columns + Strip::kColumns - 1) / Strip::kColumns;
  const int64_t pieces =
      std::clamp<int64_t>(64 / std::max<int64_t>(1, c.groups * strips), 1, std::max<int64_t>(1, c.rows));
  ParallelFor(c.groups * strips * pieces, 1, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> bases(c.positions);
    struct Place {
      int64_t row, column, index;
    };
    std::vector<Place> places;
    Strip strip(c, right);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / (strips * pieces), piece = task % pieces;
      const int64_t first = task / pieces % strips * Strip::kColumns;
      const int64_t columns = std::min(Strip::kColumns, c.columns - first);
      places.clear();
      for (int64_t row = c.rows * piece / pieces; row < c.rows * (piece + 1) / pieces; ++row) {
        const int64_t base = c.result_row(group, row);
        for (int64_t n = first; n < first + columns; ++n) {
          const int64_t index = base + c.result_column[group * c.columns + n];
          if (index < std::ssize(wanted) && wanted[index]) places.push_back({row, n, index});
        }
      }
      if (places.empty()) continue;
      strip.Pack(group, first, columns);
      for (size_t i = 0; i < places.size(); ++i) {
        const auto [row, n, index] = places[i];
        if (i == 0 || places[i - 1].row != row) c.left_bases(group, row, bases.data());
        out.Put(std::ranges::lower_bound(at, index) - at.begin(),
                OneResult(c, left, strip.Of(n), rule, overflow, bases.data()));
      }
    }
  });
}

// The rounding of an operand before the product: to the plan's format of tensor cores, or to the result's type if that
// is narrower (docs/ops.md#accumulation).
Rounding OperandRounding(const Context& context, const Instruction& inst, const ShadowValue& operand) {
  if (context.options.widened) return kNoRounding;
  const InstructionPlan* plan = context.PlanOf(inst);
  if (plan && plan->sum && plan->sum->operand_bits != 0) {
    const int bits = plan->sum->operand_bits;
    if (bits >= SignificandBits(operand.held)) return kNoRounding;
    return {std::ldexp(1.0, -bits), 0x1p-150, std::ldexp(2 - std::ldexp(1.0, -bits), 127)};
  }
  // f16 has more significand bits than bf16, but a smaller range.
  Rounding rounding = RoundingTo(inst.shape().type(), context.ftz());
  const Rounding held = RoundingTo(operand.held, context.ftz());
  if (rounding.least <= held.least && rounding.overflow >= held.overflow && rounding.relative <= held.relative)
    return kNoRounding;
  if (rounding.relative <= held.relative) rounding.relative = 0;
  return rounding;
}

}  // namespace

ShadowValue AsFloats(const ShadowValue& x) {
  if (x.IsFloat()) return x;
  const PrimitiveType type = x.shape.type();
  const bool is_u64 = type == PrimitiveType::kU64;
  const Rounding in_f64 = RoundingTo(PrimitiveType::kF64, false);
  ShadowValue floats;
  floats.shape = x.shape;
  floats.held = BitWidth(type) <= 8    ? PrimitiveType::kBF16
                : BitWidth(type) <= 16 ? PrimitiveType::kF32
                                       : PrimitiveType::kF64;
  floats.value = NewBuffer(x.shape);
  floats.bound = Zeros(x.shape);
  auto value = floats.value.mutable_data<double>(), bound = floats.bound.mutable_data<double>();
  for (size_t i = 0; i < value.size(); ++i) {
    const int64_t n = x.exact.GetInt(static_cast<int64_t>(i));
    value[i] = is_u64 ? static_cast<double>(static_cast<uint64_t>(n)) : static_cast<double>(n);
    if (std::fabs(value[i]) >= 0x1p53) bound[i] = HalfUlp(in_f64, std::fabs(value[i]));
    if (x.HasOpen() && x.open.GetInt(static_cast<int64_t>(i)) != 0) bound[i] = kUndetermined;
  }
  DropZeroBound(floats);
  return floats;
}

bool SumsAsFloats(const Instruction& inst) {
  return IsFloat(inst.shape().type()) && !IsComplex(inst.operand(0).shape().type()) &&
         !IsComplex(inst.operand(1).shape().type());
}

Result<ShadowValue> Contract(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted,
                             const Contraction& c) {
  const ShadowValue a = AsFloats(*operands[0]), b = AsFloats(*operands[1]);
  const InstructionPlan* plan = context.PlanOf(inst);
  int product_bits = SignificandBits(a.held) + SignificandBits(b.held);
  if (plan && plan->sum && plan->sum->operand_bits != 0)
    product_bits = std::min(product_bits, 2 * plan->sum->operand_bits);
  if (context.options.widened) product_bits = 106;
  SumRule rule = SumRuleOf(context, inst, c.terms, product_bits);
  rule.integers = AreIntegers(a) && AreIntegers(b);
  const PrimitiveType accumulator = context.options.widened ? PrimitiveType::kF64
                                    : plan && plan->sum     ? plan->sum->accumulator
                                                        : DefaultSum(inst.opcode(), inst.shape().type()).accumulator;
  const double overflow = RoundingTo(accumulator, false).overflow;
  // Products can underflow although the significand is wide enough, such as 2^-126 * 2^-126 of bf16.
  const auto half_step = [&](PrimitiveType type) { return RoundingTo(type, context.ftz()).least; };
  if (4 * half_step(a.held) * half_step(b.held) < 2 * half_step(accumulator))
    rule.each = std::max(rule.each, static_cast<double>(c.terms) * half_step(accumulator));
  const Operand left(a, OperandRounding(context, inst, a)), right(b, OperandRounding(context, inst, b));
  Sink out(inst.shape(), context.Held(inst), rule.HasLikely() || left.HasLikely() || right.HasLikely());
  if (wanted == nullptr) {
    MultiplyAll(c, left, right, rule, overflow, out);
  } else {
    MultiplyWanted(c, left, right, rule, overflow, wanted->at, out);
  }
  return out.TakeWithBounds();
}

}  // namespace hlo::shadow
