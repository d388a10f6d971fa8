#include "judge/compare/random_roundings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "interp/arguments/philox.h"
#include "ir/component_type.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/precision_plan.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/terms.h"
#include "judge/compare/widened_module.h"

namespace hlo {
namespace {

using shadow::Combiner;
using shadow::CombinerOf;
using shadow::HalfUlp;
using shadow::Rounding;
using shadow::RoundingTo;
using shadow::SignificandBits;

bool IsWide(const Shape& shape) { return IsRounded(shape) && Widened(shape) == shape; }

int64_t PartsOf(const Literal& wide) { return IsComplex(wide.shape().type()) ? 2 : 1; }

// Real and imaginary parts alternate.
std::span<double> NumbersOf(Literal& wide) {
  return {reinterpret_cast<double*>(wide.mutable_raw()),
          static_cast<size_t>(wide.shape().NumElements() * PartsOf(wide))};
}

// The magnitude of the number that starts at `x`.
double SizeOf(const double* x, int64_t parts) { return parts == 1 ? std::fabs(x[0]) : std::hypot(x[0], x[1]); }

constexpr int64_t kGrain = 1 << 14;  // A multiple of kPhiloxLanes.

// kReordered: nothing is rounded, but the order may decide, as for an argmax of several NaNs.
enum class How : uint8_t { kNot, kOnce, kSum, kTransform, kReordered };

How HowOf(const Instruction& inst) {
  if (inst.Is(kElementwise)) return RowOf(inst.opcode()).ulps > 0 ? How::kOnce : How::kNot;
  switch (inst.opcode()) {
    case Opcode::kDot:
    case Opcode::kConvolution: return How::kSum;
    case Opcode::kReduce:
      if (CombinerOf(*CalledComputations(inst).back()) == Combiner::kOther) return How::kReordered;
      [[fallthrough]];
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kCollectiveReduce:
      return CombinerOf(*CalledComputations(inst).back()) == Combiner::kAdd ? How::kSum : How::kNot;
    case Opcode::kFft: return How::kTransform;
    case Opcode::kIota:
    case Opcode::kBatchNormGrad:  // Batch norms are expanded before.
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: return How::kOnce;
    default: return How::kNot;
  }
}

bool AddsOverDevices(const Instruction& inst) {
  return HowOf(inst) == How::kSum && inst.attributes().GetIf<CollectiveAttrs>() != nullptr;
}

class Dice {
 public:
  Dice(uint64_t seed, int run, int64_t number) : seed_(seed), high_(static_cast<uint64_t>(run) << 48 | number) {}
  double Unit(int64_t i) const {
    uint32_t words[kPhiloxLanes];
    UnitWords(i, words);
    return UnitOf(words[0]);
  }
  // The words of Unit(i), Unit(i + 1), ...
  void UnitWords(int64_t i, uint32_t (&words)[kPhiloxLanes]) const {
    PhiloxFirstWords(seed_, static_cast<uint64_t>(i), high_ ^ 0xE5E3'0000'0000, words);
  }
  static double UnitOf(uint32_t word) { return (word + 0.5) * 0x1p-32; }
  // Mean 0 and variance 1, from four uniform numbers.
  double Normal(int64_t i) const {
    const PhiloxBlock block = Philox(seed_, static_cast<uint64_t>(i), high_ ^ 0xA11E'0000'0000);
    double sum = -2;
    for (const uint32_t word : block.words) sum += (word + 0.5) * 0x1p-32;
    return sum * std::sqrt(3.0);
  }

 private:
  uint64_t seed_, high_;
};

// Rounds at random, more probably to the nearer number. An f64 is already rounded, so it gets noise of at most half a
// step.
double Rounded(double x, PrimitiveType type, const Rounding& rounding, double random) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double step = 2 * HalfUlp(rounding, std::fabs(x));
  if (type == PrimitiveType::kF64) return x + (random - 0.5) * step;
  const double below = std::floor(x / step) * step;
  const double result = random < (x - below) / step ? below + step : below;
  if (std::fabs(result) >= rounding.overflow) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return result;
}

// `x` in another order along the reduced dimensions: each begins at a random index and runs in a random direction.
Literal Reordered(const Literal& x, std::span<const int64_t> reduced, const Dice& dice) {
  const Shape& shape = x.shape();
  const int64_t width = ByteWidth(shape.type());
  std::vector<std::vector<int64_t>> offsets(shape.rank());  // By dimension: the bytes to add for each index.
  int64_t stride = width;
  for (int64_t dim = shape.rank() - 1; dim >= 0; --dim) {
    const int64_t size = shape.dim(dim);
    const bool is_reduced = std::ranges::find(reduced, dim) != reduced.end();
    const int64_t first = is_reduced ? static_cast<int64_t>(dice.Unit(2 * dim) * static_cast<double>(size)) : 0;
    const bool is_reversed = is_reduced && dice.Unit(2 * dim + 1) < 0.5;
    for (int64_t i = 0; i < size; ++i)
      offsets[dim].push_back((is_reversed ? (first + size - i) % size : (first + i) % size) * stride);
    stride *= size;
  }
  Literal result = Literal::Uninitialized(shape);
  std::byte* to = result.mutable_raw();
  const auto copy = [&](const auto& copy, int64_t dim, const std::byte* from) -> void {
    if (dim == shape.rank()) {
      std::memcpy(to, from, width);
      to += width;
      return;
    }
    for (const int64_t offset : offsets[dim]) copy(copy, dim + 1, from + offset);
  };
  copy(copy, 0, x.raw());
  return result;
}

Result<Literal> SumOf(const Instruction& inst, std::vector<Literal>& operands, int64_t memory_limit) {
  if (!AddsOverDevices(inst)) {
    InterpretOptions plain;
    plain.memory_limit = memory_limit;
    return Evaluate(inst, operands, plain);
  }
  Literal sum = std::move(operands[0]);
  for (const Literal& operand : std::span(operands).subspan(1)) {
    for (size_t i = 0; i < NumbersOf(sum).size(); ++i)
      NumbersOf(sum)[i] += reinterpret_cast<const double*>(operand.raw())[i];
  }
  return sum;
}

void Square(Literal& value) {
  const std::span<double> x = NumbersOf(value);
  const bool is_complex = PartsOf(value) == 2;
  ParallelFor(value.shape().NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (is_complex) x[2 * i] = x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1], x[2 * i + 1] = 0;
      else x[i] *= x[i];
    }
  });
}

// `size_of` returns the noise's rms from an element's index and magnitude. Infinities and NaNs get no noise.
template <class SizeOfNoise>
void AddNoise(Literal& value, const Dice& dice, const SizeOfNoise& size_of) {
  const std::span<double> x = NumbersOf(value);
  const int64_t parts = PartsOf(value);
  ParallelFor(value.shape().NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double size = size_of(i, SizeOf(&x[parts * i], parts));
      if (size == 0 || !std::isfinite(size)) continue;
      for (int64_t part = parts * i; part < parts * (i + 1); ++part) x[part] += size * dice.Normal(part);
    }
  });
}

Status ReduceInOtherOrder(const Instruction& inst, std::span<const Literal> operands, const Dice& order,
                          int64_t memory_limit, Literal& value) {
  const size_t arrays = operands.size() / 2;  // The others are initial values.
  std::vector<Literal> reordered(operands.begin(), operands.end());
  for (Literal& array : std::span(reordered).first(arrays)) {
    if (array.shape().HasDynamicDims()) return {};
    array = Reordered(array, inst.attrs<ReduceAttrs>().dimensions, order);
  }
  value = TRY(SumOf(inst, reordered, memory_limit));
  return {};
}

// An intermediate result that overflows in one order of a sum, or without an fma, may not overflow otherwise. So this
// computes elements that are not finite again from operands times a power of 2.
Status SumWithoutOverflow(const Instruction& inst, std::span<const Literal> operands, int64_t memory_limit,
                          Literal& value) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (AddsOverDevices(inst) || std::ranges::all_of(NumbersOf(value), is_finite)) return {};
  const bool multiplies = inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution);
  const double scale = multiplies ? 0x1p-540 : 0x1p-100;
  std::vector<Literal> scaled(operands.begin(), operands.end());
  for (size_t i = 0; i < scaled.size(); ++i) {
    if (!IsWide(scaled[i].shape()) || (inst.Is(Opcode::kSelectAndScatter) && i == 0)) continue;
    for (double& x : NumbersOf(scaled[i])) x *= scale;
  }
  Literal sum = TRY(SumOf(inst, scaled, memory_limit));
  const std::span<double> numbers = NumbersOf(value), again = NumbersOf(sum);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) numbers[i] = multiplies ? again[i] / scale / scale : again[i] / scale;
  }
  return {};
}

void RoundAll(Literal& value, PrimitiveType type, const Dice& dice) {
  const Rounding rounding = RoundingTo(type, false);
  const std::span<double> x = NumbersOf(value);
  ParallelFor(std::ssize(x), kGrain, [&](int64_t begin, int64_t end) {
    uint32_t words[kPhiloxLanes];
    for (int64_t i = begin; i < end; i += kPhiloxLanes) {
      dice.UnitWords(i, words);
      for (int64_t k = i; k < std::min(end, i + kPhiloxLanes); ++k)
        x[k] = Rounded(x[k], type, rounding, Dice::UnitOf(words[k - i]));
    }
  });
}

Status AddSumError(const Instruction& inst, std::span<const Literal> operands, double devices,
                   PrimitiveType accumulator, const Dice& way, const Dice& dice, int64_t memory_limit, Literal& value) {
  // Each element of a scatter has its own number of terms.
  std::optional<Literal> counts;
  if (inst.Is(Opcode::kScatter)) {
    std::vector<Literal> ones(operands.begin(), operands.end());
    for (Literal& one : ones) {
      if (IsWide(one.shape())) std::ranges::fill(NumbersOf(one), 1.0);
    }
    counts = TRY(SumOf(inst, ones, memory_limit));
  }
  const double terms = AddsOverDevices(inst) ? static_cast<double>(operands.size()) : devices * shadow::TermsOf(inst);
  if (terms < 2 && !counts) return {};
  std::vector<Literal> squared(operands.begin(), operands.end());
  for (size_t i = 0; i < squared.size(); ++i) {
    // The first operand is not summed.
    if (inst.Is(Opcode::kSelectAndScatter) && i == 0) continue;
    if (IsWide(squared[i].shape())) Square(squared[i]);
  }
  Literal squares = TRY(SumOf(inst, squared, memory_limit));
  // Half of the runs use one chain, which has the largest errors. Others use a shorter one, down to a balanced tree.
  const bool is_longest = way.Unit(1) < 0.5;
  const double length = way.Unit(2);
  const auto chain_of = [&](double terms) {
    const double longest = terms - 1, least = std::min(longest, std::log2(terms));
    return longest <= 0 || is_longest ? longest : least * std::pow(longest / least, length);
  };
  const double chain = chain_of(terms);
  const std::span<double> of_element = counts ? NumbersOf(*counts) : std::span<double>();
  // A rounding is uniform over a step of at most 2 u of the number, so its rms is u / sqrt(3).
  const double each = 0.58 * RoundingTo(accumulator, false).relative;
  const std::span<double> q = NumbersOf(squares);
  const int64_t parts = PartsOf(squares);
  AddNoise(value, dice, [&](int64_t i, double s) {
    const double additions = counts ? chain_of(of_element[parts * i]) : chain;
    return each * std::sqrt(std::max(0.0, additions * (s * s / 3 + q[parts * i] / 6)));
  });
  return {};
}

// An fft rounds log2(length) times, relative to the rms of the results.
void AddTransformError(const Instruction& inst, PrimitiveType type, const Dice& dice, Literal& value) {
  double length = 1, squares = 0;
  for (const int64_t size : inst.attrs<FftAttrs>().fft_length) length *= static_cast<double>(size);
  for (const double x : NumbersOf(value)) squares += x * x;
  const int64_t count = value.shape().NumElements();
  const double rms = std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, count)));
  const double size = RoundingTo(type, false).relative * rms * std::max(1.0, std::log2(length));
  AddNoise(value, dice, [&](int64_t, double) { return size; });
}

// The error is at most `ulps`, less half an ulp for the rounding. The rms of a uniform error is 1 / sqrt(3) of the
// largest.
void AddFunctionError(double ulps, PrimitiveType type, const Dice& dice, Literal& value) {
  if (ulps <= 0.5) return;
  const Rounding rounding = RoundingTo(type, false);
  const double each = (2 * ulps - 1) / std::sqrt(3.0);
  AddNoise(value, dice,
           [&](int64_t, double x) { return x == 0 || !std::isfinite(x) ? 0 : each * HalfUlp(rounding, x); });
}

}  // namespace

double DevicesOfSums(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (AddsOverDevices(*inst))
        return static_cast<double>(module.header.num_partitions * module.header.replica_count);
    }
  }
  return 1;
}

Status RandomRoundings::Round(const Instruction& inst, std::span<const Literal> operands, Literal& value) {
  const How how = HowOf(inst);
  if (how == How::kNot) return {};
  // `way` is the same in all iterations, because an instruction is compiled once.
  const Dice way(options_.seed, run_, inst.id());
  const auto memory_limit = options_.interpret.memory_limit;
  if (how == How::kReordered) return ReduceInOtherOrder(inst, operands, way, memory_limit, value);
  // A collective may have several types, its reducer only one.
  const Instruction& typed = AddsOverDevices(inst) ? inst.attrs<CollectiveAttrs>().to_apply->root() : inst;
  const auto found = declared_.find(typed.id());
  if (found == declared_.end() || !IsWide(value.shape())) return {};
  const Dice dice(options_.seed, run_, (int64_t{1} << 40) + ++steps_);
  const PrimitiveType type = ComponentType(found->second);
  const bool narrow = SignificandBits(type) < SignificandBits(PrimitiveType::kF32);
  const PrimitiveType wider = narrow ? PrimitiveType::kF32 : type;
  const bool as_declared = way.Unit(0) < 0.5;
  // The interpreter rounds after each update of a scatter, XLA:CPU after each step of a reduce.
  constexpr OpcodeSet kRoundsEachStep = {Opcode::kScatter, Opcode::kReduce, Opcode::kReduceWindow};
  const PrimitiveType accumulator = as_declared && kRoundsEachStep.Has(inst.opcode()) ? type : wider;
  if (how == How::kSum && way.Unit(3) < 0.5) TRY(SumWithoutOverflow(inst, operands, memory_limit, value));
  if (how == How::kSum) TRY(AddSumError(inst, operands, devices_, accumulator, way, dice, memory_limit, value));
  if (how == How::kTransform) AddTransformError(inst, wider, dice, value);
  if (inst.Is(kElementwise)) AddFunctionError(DefaultUlps(inst.opcode(), wider), wider, dice, value);
  if (!as_declared && !narrow) return {};
  const PrimitiveType target = as_declared ? type : wider;
  RoundAll(value, target, dice);
  return {};
}

void RandomRoundings::Store(const Shape& declared, Literal& value) {
  if (declared.IsTuple()) {
    for (size_t i = 0; i < declared.elements().size(); ++i) Store(declared.element(i), value.mutable_elements()[i]);
    return;
  }
  if (!IsRounded(declared) || IsWide(declared)) return;
  const Dice dice(options_.seed, run_, (int64_t{1} << 41) + ++steps_);
  RoundAll(value, ComponentType(declared.type()), dice);
}

}  // namespace hlo
