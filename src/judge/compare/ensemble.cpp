#include "judge/compare/ensemble.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/parallel.h"
#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "interp/arguments/philox.h"
#include "interp/contraction.h"
#include "ir/batch_norm_expansion.h"
#include "ir/component_type.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/precision_plan.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/terms.h"

namespace hlo {
namespace {

using shadow::Combiner;
using shadow::CombinerOf;
using shadow::HalfUlp;
using shadow::Rounding;
using shadow::RoundingTo;
using shadow::SignificandBits;

// Limit on the largest r. For normal errors, r has Student's distribution with `runs` degrees of freedom. With V of the
// chi-squared distribution, P(r > x) = E[P(|Z| > x sqrt(V / runs))] <= E[exp(-x^2 V / (2 runs))] = (1 + x^2 /
// runs)^(-runs / 2). Some element exceeds the limit with a probability of 1 in 1000. It is at least 8, because errors
// after many functions are not normal.
constexpr double kLeastWorst = 8;
double MostWorst(int64_t elements, int runs) {
  constexpr double kChance = 1e-3;
  const double draws = static_cast<double>(std::max<int64_t>(1, elements)) / kChance, n = std::max(1, runs);
  return std::max(kLeastWorst, std::sqrt(n * (std::pow(draws, 2 / n) - 1)));
}

// Limit on the rms of r: kLeastWorst for one element, 2 for many.
double MostRms(int64_t elements) {
  constexpr double kOfMany = 2;
  const double n = static_cast<double>(std::max<int64_t>(1, elements));
  return std::sqrt(kOfMany * kOfMany + (kLeastWorst * kLeastWorst - kOfMany * kOfMany) / n);
}

Shape Widened(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Widened(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return shape;
  if (IsComplex(shape.type())) return shape.WithType(PrimitiveType::kC128);
  return IsFloat(shape.type()) ? shape.WithType(PrimitiveType::kF64) : shape;
}

bool IsRounded(const Shape& shape) { return shape.IsArray() && (IsFloat(shape.type()) || IsComplex(shape.type())); }
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

// Whether the type itself matters: its bits, its random numbers, or values from outside.
bool HangsOnType(const Instruction& inst) {
  return inst.Is(Opcode::kBitcastConvert) || inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kRng) ||
         inst.Is(Opcode::kCustomCall) || inst.Is(Opcode::kInfeed) || inst.Is(Opcode::kOutfeed) ||
         inst.Is(Opcode::kStochasticConvert);
}

void KeepTypes(Instruction& inst, const Shape& declared, std::span<const Shape> operand_shapes) {
  Computation& computation = inst.computation();
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (operand_shapes[i] == inst.operand(i).shape()) continue;
    inst.SetOperand(i, computation.Add(Opcode::kConvert, operand_shapes[i], {&inst.operand(i)}));
  }
  if (Widened(declared) == declared) return;
  Instruction& stand_in = computation.AddClone(inst, declared, {inst.operands().begin(), inst.operands().end()});
  Instruction& wide = computation.Add(Opcode::kConvert, Widened(declared), {&stand_in});
  inst.ReplaceAllUses(wide);
  if (&computation.root() == &inst) computation.SetRoot(wide);
  computation.Remove(inst);
}

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

// The number of devices if they add values, otherwise 1.
double DevicesOfSums(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (AddsOverDevices(*inst))
        return static_cast<double>(module.header.num_partitions * module.header.replica_count);
    }
  }
  return 1;
}

std::unique_ptr<Module> WithoutBatchNorms(const Module& module) {
  std::unique_ptr<Module> expanded = module.Clone();
  for (Computation* computation : expanded->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const bool is_batch_norm = inst->Is(Opcode::kBatchNormTraining) || inst->Is(Opcode::kBatchNormInference) ||
                                 inst->Is(Opcode::kBatchNormGrad);
      Instruction* const steps = is_batch_norm ? ExpandBatchNorm(*inst) : nullptr;
      if (steps == nullptr) continue;
      inst->ReplaceAllUses(*steps);
      if (&computation->root() == inst) computation->SetRoot(*steps);
      computation->Remove(*inst);
    }
  }
  return expanded;
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

class Rounder {
 public:
  Rounder(const std::unordered_map<int, PrimitiveType>& declared, const EnsembleOptions& options, double devices,
          int run)
      : declared_(declared), options_(options), devices_(devices), run_(run) {}

  Status Round(const Instruction& inst, std::span<const Literal> operands, Literal& value) {
    const How how = HowOf(inst);
    if (how == How::kNot) return {};
    if (how == How::kReordered) return ReduceInOtherOrder(inst, operands, value);
    // A collective may have several types, its reducer only one.
    const Instruction& typed = AddsOverDevices(inst) ? inst.attrs<CollectiveAttrs>().to_apply->root() : inst;
    const auto found = declared_.find(typed.id());
    if (found == declared_.end() || !IsWide(value.shape())) return {};
    // `way` is the same in all iterations, because an instruction is compiled once.
    const Dice way(options_.seed, run_, inst.id());
    const Dice dice(options_.seed, run_, (int64_t{1} << 40) + ++steps_);
    const PrimitiveType type = ComponentType(found->second);
    const bool narrow = SignificandBits(type) < SignificandBits(PrimitiveType::kF32);
    const PrimitiveType wider = narrow ? PrimitiveType::kF32 : type;
    const bool as_declared = way.Unit(0) < 0.5;
    // The interpreter rounds after each update of a scatter, XLA:CPU after each step of a reduce.
    constexpr OpcodeSet kRoundsEachStep = {Opcode::kScatter, Opcode::kReduce, Opcode::kReduceWindow};
    const PrimitiveType accumulator = as_declared && kRoundsEachStep.Has(inst.opcode()) ? type : wider;
    if (how == How::kSum && way.Unit(3) < 0.5) TRY(SumWithoutOverflow(inst, operands, value));
    if (how == How::kSum) TRY(AddSumError(inst, operands, accumulator, way, dice, value));
    if (how == How::kTransform) AddTransformError(inst, wider, dice, value);
    if (inst.Is(kElementwise)) AddFunctionError(DefaultUlps(inst.opcode(), wider), wider, dice, value);
    if (!as_declared && !narrow) return {};
    const PrimitiveType target = as_declared ? type : wider;
    RoundAll(value, target, dice);
    return {};
  }

  // Rounds a result that was held in a wider type.
  void Store(const Shape& declared, Literal& value) {
    if (declared.IsTuple()) {
      for (size_t i = 0; i < declared.elements().size(); ++i) Store(declared.element(i), value.mutable_elements()[i]);
      return;
    }
    if (!IsRounded(declared) || IsWide(declared)) return;
    const Dice dice(options_.seed, run_, (int64_t{1} << 41) + ++steps_);
    RoundAll(value, ComponentType(declared.type()), dice);
  }

 private:
  Status ReduceInOtherOrder(const Instruction& inst, std::span<const Literal> operands, Literal& value) {
    const Dice order(options_.seed, run_, inst.id());
    const size_t arrays = operands.size() / 2;  // The others are initial values.
    std::vector<Literal> reordered(operands.begin(), operands.end());
    for (Literal& array : std::span(reordered).first(arrays)) {
      if (array.shape().HasDynamicDims()) return {};
      array = Reordered(array, inst.attrs<ReduceAttrs>().dimensions, order);
    }
    value = TRY(SumOf(inst, reordered));
    return {};
  }

  // An intermediate result that overflows in one order of a sum, or without an fma, may not overflow otherwise. So this
  // computes elements that are not finite again from operands times a power of 2.
  Status SumWithoutOverflow(const Instruction& inst, std::span<const Literal> operands, Literal& value) {
    const auto is_finite = [](double x) { return std::isfinite(x); };
    if (AddsOverDevices(inst) || std::ranges::all_of(NumbersOf(value), is_finite)) return {};
    const bool multiplies = inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution);
    const double scale = multiplies ? 0x1p-540 : 0x1p-100;
    std::vector<Literal> scaled(operands.begin(), operands.end());
    for (size_t i = 0; i < scaled.size(); ++i) {
      if (!IsWide(scaled[i].shape()) || (inst.Is(Opcode::kSelectAndScatter) && i == 0)) continue;
      for (double& x : NumbersOf(scaled[i])) x *= scale;
    }
    Literal sum = TRY(SumOf(inst, scaled));
    const std::span<double> numbers = NumbersOf(value), again = NumbersOf(sum);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!std::isfinite(numbers[i])) numbers[i] = multiplies ? again[i] / scale / scale : again[i] / scale;
    }
    return {};
  }

  static void RoundAll(Literal& value, PrimitiveType type, const Dice& dice) {
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

  Status AddSumError(const Instruction& inst, std::span<const Literal> operands, PrimitiveType accumulator,
                     const Dice& way, const Dice& dice, Literal& value) {
    // Each element of a scatter has its own number of terms.
    std::optional<Literal> counts;
    if (inst.Is(Opcode::kScatter)) {
      std::vector<Literal> ones(operands.begin(), operands.end());
      for (Literal& one : ones) {
        if (IsWide(one.shape())) std::ranges::fill(NumbersOf(one), 1.0);
      }
      counts = TRY(SumOf(inst, ones));
    }
    const double terms =
        AddsOverDevices(inst) ? static_cast<double>(operands.size()) : devices_ * shadow::TermsOf(inst);
    if (terms < 2 && !counts) return {};
    std::vector<Literal> squared(operands.begin(), operands.end());
    for (size_t i = 0; i < squared.size(); ++i) {
      // The first operand is not summed.
      if (inst.Is(Opcode::kSelectAndScatter) && i == 0) continue;
      if (IsWide(squared[i].shape())) Square(squared[i]);
    }
    Literal squares = TRY(SumOf(inst, squared));
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

  Result<Literal> SumOf(const Instruction& inst, std::vector<Literal>& operands) const {
    if (!AddsOverDevices(inst)) {
      InterpretOptions plain;
      plain.memory_limit = options_.interpret.memory_limit;
      return Evaluate(inst, operands, plain);
    }
    Literal sum = std::move(operands[0]);
    for (const Literal& operand : std::span(operands).subspan(1)) {
      for (size_t i = 0; i < NumbersOf(sum).size(); ++i)
        NumbersOf(sum)[i] += reinterpret_cast<const double*>(operand.raw())[i];
    }
    return sum;
  }

  static void Square(Literal& value) {
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
  static void AddNoise(Literal& value, const Dice& dice, const SizeOfNoise& size_of) {
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

  // An fft rounds log2(length) times, relative to the rms of the results.
  static void AddTransformError(const Instruction& inst, PrimitiveType type, const Dice& dice, Literal& value) {
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
  static void AddFunctionError(double ulps, PrimitiveType type, const Dice& dice, Literal& value) {
    if (ulps <= 0.5) return;
    const Rounding rounding = RoundingTo(type, false);
    const double each = (2 * ulps - 1) / std::sqrt(3.0);
    AddNoise(value, dice,
             [&](int64_t, double x) { return x == 0 || !std::isfinite(x) ? 0 : each * HalfUlp(rounding, x); });
  }

  const std::unordered_map<int, PrimitiveType>& declared_;
  const EnsembleOptions& options_;
  // A device's sums may be parts of sums over all devices, which another program adds in one chain.
  const double devices_;
  const int run_;
  int64_t steps_ = 0;
};

Shape InParts(const Shape& shape) {
  if (!IsComplex(shape.type())) return shape;
  std::vector<int64_t> dims = shape.dims();
  dims.push_back(2);
  return Shape(ComponentType(shape.type()), dims);
}
Literal InParts(const Literal& literal) {
  if (!IsComplex(literal.shape().type())) return literal;
  Literal parts = Literal::Uninitialized(InParts(literal.shape()));
  std::copy_n(literal.raw(), literal.byte_size(), parts.mutable_raw());
  return parts;
}

// Counts differing elements. nullopt if one differs by more than `most`.
std::optional<int64_t> CountFlips(const Literal& m, const Literal& t, double most) {
  int64_t flips = 0;
  for (int64_t i = 0; i < m.shape().NumElements(); ++i) {
    if (m.GetInt(i) == t.GetInt(i)) continue;
    if (!(std::fabs(m.GetDouble(i) - t.GetDouble(i)) <= most)) return std::nullopt;
    ++flips;
  }
  return flips;
}

// Roundings can move a number across a step before it is converted to an integer. r is infinite if an element of t is
// more than 4 times as far from m as any element of a run. That is about 8 times the rms, as for floats, because
// integers may be the bits of floats.
EnsembleOutput JudgeIntegers(EnsembleOutput output, const Literal& m, std::span<const Literal> runs, const Literal& t) {
  double most = 0;
  int64_t most_flips = 0;
  for (const Literal& run : runs) {
    for (int64_t i = 0; i < output.elements; ++i) most = std::max(most, std::fabs(m.GetDouble(i) - run.GetDouble(i)));
  }
  for (const Literal& run : runs) most_flips = std::max(most_flips, *CountFlips(m, run, most));
  const std::optional<int64_t> flips = CountFlips(m, t, 4 * most);
  output.worst = !flips ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(*flips) / static_cast<double>(std::max<int64_t>(1, most_flips));
  output.digits = -std::numeric_limits<double>::infinity();
  output.spread = most;
  double largest = -1;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double distance = std::fabs(m.GetDouble(i) - t.GetDouble(i));
    if (distance <= largest) continue;
    largest = distance;
    output.worst_element = i;
    output.expected = m.GetDouble(i);
    output.actual = t.GetDouble(i);
  }
  return output;
}

// Whether element i overflows or is NaN only in declared types. `own` is the interpreter's value in these types, or
// null.
bool IsOverflow(const Literal* own, int64_t i, double middle) {
  return own != nullptr && std::isfinite(middle) && !std::isfinite(own->GetDouble(i));
}

EnsembleOutput Judge(const ShapeIndex& index, const Shape& shape, const Literal& m, std::span<const Literal> runs,
                     const Literal& t, const Literal* own) {
  EnsembleOutput output{
      .output = index, .shape = m.shape().WithType(shape.type()), .runs = static_cast<int>(runs.size())};
  output.elements = m.shape().NumElements();
  const auto has_other_size = [&](const Literal& run) { return run.shape().dims() != m.shape().dims(); };
  if (has_other_size(t) || std::ranges::any_of(runs, has_other_size)) {
    output.elements = 0;
    output.worst = std::numeric_limits<double>::infinity();
    return output;
  }
  if (!IsFloat(shape.type())) return JudgeIntegers(std::move(output), m, runs, t);
  const Rounding rounding = RoundingTo(shape.type(), false);
  std::vector<double> spread(static_cast<size_t>(output.elements), 0);
  double deviations = 0, squares = 0;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double middle = m.GetDouble(i);
    double sum = 0;
    for (const Literal& run : runs) sum += (run.GetDouble(i) - middle) * (run.GetDouble(i) - middle);
    spread[i] = std::sqrt(sum / static_cast<double>(runs.size()));
    if (!std::isfinite(spread[i])) continue;
    deviations += sum / static_cast<double>(runs.size());
    squares += middle * middle;
  }
  output.digits = std::log2(std::sqrt(deviations / squares));
  std::vector<double> sorted;
  for (const double s : spread) {
    if (std::isfinite(s)) sorted.push_back(s);
  }
  if (!sorted.empty()) std::ranges::nth_element(sorted, sorted.begin() + static_cast<int64_t>(sorted.size() / 2));
  const double least = sorted.empty() ? 0 : sorted[sorted.size() / 2] / 2;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double middle = m.GetDouble(i), actual = t.GetDouble(i);
    double s = std::max(std::isfinite(spread[i]) ? spread[i] : 0, least), r = 0;
    s = std::max(s, HalfUlp(rounding, std::fabs(middle)) / 2);
    // Errors of a sum of equal terms have one sign, unlike those that the runs draw. So all numbers between the middle
    // and the interpreter's value in the declared types are right.
    const bool has_own = own != nullptr && std::isfinite(own->GetDouble(i));
    const auto [least_right, most_right] = std::minmax({middle, has_own ? own->GetDouble(i) : middle});
    if (actual == middle || (std::isnan(actual) && std::isnan(middle)) || IsOverflow(own, i, middle)) {
      r = 0;
    } else if (std::isfinite(middle) && std::isfinite(actual)) {
      r = std::max({least_right - actual, actual - most_right, 0.0}) / s;
    } else {
      // The result is accepted if the interpreter in the declared types, or a run, is the same infinity, also NaN, or
      // also finite.
      const auto is_alike = [&](const Literal& run) {
        const double other = run.GetDouble(i);
        if (std::isinf(actual)) return other == actual;
        return std::isfinite(other) == std::isfinite(actual) && std::isnan(other) == std::isnan(actual);
      };
      const bool open = (own != nullptr && is_alike(*own)) || std::ranges::any_of(runs, is_alike);
      r = open ? 0 : std::numeric_limits<double>::infinity();
    }
    if (std::isnan(r)) r = std::numeric_limits<double>::infinity();
    ++counted;
    sum += r * r;
    if (r <= output.worst && i > 0) continue;
    output.worst = r;
    output.worst_element = i;
    output.expected = middle;
    output.actual = actual;
    output.spread = s;
  }
  output.rms = counted == 0 ? 0 : std::sqrt(sum / static_cast<double>(counted));
  return output;
}

std::string Reach(double digits) {
  if (std::isnan(digits) || digits == -std::numeric_limits<double>::infinity()) return "nothing is rounded";
  return Format("roundings reach 2^%.0f of the results", digits);
}

}  // namespace

Literal WidenedLiteral(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(WidenedLiteral(element));
    return Literal::Tuple(std::move(elements));
  }
  if (!literal.shape().IsArray()) return literal;
  return Converted(literal, Widened(literal.shape()).type());
}

Result<std::unique_ptr<Module>> WidenedModule(const Module& module) {
  std::unique_ptr<Module> wide = module.Clone();
  std::unordered_map<int, Shape> declared;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      declared.emplace(inst->id(), inst->shape());
      const bool tuple = HangsOnType(*inst) && inst->shape().IsTuple();
      const bool tuples = HangsOnType(*inst) && std::ranges::any_of(inst->operands(), [](const Instruction* operand) {
                            return operand->shape().IsTuple();
                          });
      if (tuple || tuples)
        FAIL(UnsupportedAt(*inst, "U002",
                           Str("'", inst->name(), "' (", inst->opcode(), ") on ", inst->shape(),
                               " depends on its element types, so it cannot be evaluated without roundings")));
    }
  }
  for (Computation* computation : wide->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kConstant)) inst->mutable_attrs<ConstantAttrs>().literal = WidenedLiteral(inst->literal());
      inst->SetShape(Widened(inst->shape()));
    }
  }
  for (Computation* computation : wide->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const auto own = declared.find(inst->id());
      if (own == declared.end() || !HangsOnType(*inst)) continue;
      std::vector<Shape> operands;
      for (const Instruction* operand : inst->operands()) {
        const auto known = declared.find(operand->id());
        operands.push_back(known == declared.end() ? operand->shape() : known->second);
      }
      KeepTypes(*inst, own->second, operands);
    }
  }
  return wide;
}

bool EnsembleOutput::IsSuspect() const { return worst > MostWorst(elements, runs) || rms > MostRms(elements); }

double EnsembleResult::worst() const {
  double worst = 0;
  for (const EnsembleOutput& output : outputs) worst = std::max(worst, output.worst);
  return worst;
}

Result<EnsembleResult> CompareEnsemble(const Module& module, std::span<const Literal> args, const Literal& actual,
                                       const EnsembleOptions& options) {
  EnsembleResult result;
  auto widened = WidenedModule(module);
  if (!widened) {
    if (widened.error().exit != ExitCode::kUnsupported) FAIL(widened.error());
    result.unsupported = widened.error().message();
    return result;
  }
  std::vector<Literal> wide_args;
  for (const Literal& arg : args) wide_args.push_back(WidenedLiteral(arg));
  // Terms of batch norms cancel, so the runs round each of their steps.
  const std::unique_ptr<Module> expanded = WithoutBatchNorms(module);
  const std::unique_ptr<Module> rounded = TRY(WidenedModule(*expanded));
  std::unordered_map<int, PrimitiveType> declared;
  for (const Computation* computation : expanded->Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (IsRounded(inst->shape()) && !HangsOnType(*inst)) declared.emplace(inst->id(), inst->shape().type());
    }
  }
  InterpretOptions interpret = options.interpret;
  interpret.on_value = nullptr;
  const InterpretOptions interpret_plain = interpret;
  const auto evaluate = [&](const Module& of, const InterpretOptions& how, bool is_widened) -> Result<Literal> {
    if (options.evaluate) return options.evaluate(of, how, is_widened);
    return is_widened ? Interpret(of, wide_args, how) : Interpret(of, args, how);
  };
  std::clock_t start = std::clock();
  int wanted = options.runs;
  // Whether enough runs fit into the limit if each takes as long as the work since `start`.
  const auto fits = [&] {
    if (options.most_seconds == 0) return true;
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    wanted = static_cast<int>(std::min<double>(wanted, options.most_seconds / taken));
    if (wanted >= std::min(kLeastRuns, options.runs)) return true;
    result.unsupported = Format("%d runs would take about %.0f s of processor time, more than the limit", kLeastRuns,
                                taken * kLeastRuns);
    return false;
  };
  const Literal middle = TRY(evaluate(**widened, interpret, true));
  if (!fits()) return result;
  std::vector<Literal> runs;
  const double devices = DevicesOfSums(module);
  start = std::clock();
  for (int run = 0; run < wanted; ++run) {
    // HLO does not define the sign of a NaN, which a total order or a bitcast reads.
    interpret.nan_bits = run % 2 == 0 ? NanBits::kPositive : NanBits::kNegative;
    Rounder rounder(declared, options, devices, run);
    interpret.perturb = [&](const Instruction& inst, std::span<const Literal> operands, Literal& value) {
      return rounder.Round(inst, operands, value);
    };
    runs.push_back(TRY(evaluate(*rounded, interpret, true)));
    rounder.Store(actual.shape(), runs.back());
    if (run == 0 && !fits()) return result;
  }
  result.runs = wanted;
  const auto own = evaluate(module, interpret_plain, false);
  ForEachLeaf(actual.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (!shape.IsArray()) return;
    std::optional<Literal> own_leaf;
    if (own) own_leaf = InParts(own->At(index));
    if (own_leaf && own_leaf->shape().dims() != InParts(middle.At(index)).shape().dims()) own_leaf.reset();
    std::vector<Literal> leaves;
    for (const Literal& run : runs) leaves.push_back(InParts(run.At(index)));
    result.outputs.push_back(Judge(index, InParts(shape), InParts(middle.At(index)), leaves, InParts(actual.At(index)),
                                   own_leaf ? &*own_leaf : nullptr));
    result.suspect = result.suspect || result.outputs.back().IsSuspect();
  });
  return result;
}

std::string ToString(const EnsembleResult& result) {
  if (!result.unsupported.empty()) return Str("no runs: ", result.unsupported);
  const EnsembleOutput* worst = nullptr;
  double rms = 0, digits = -std::numeric_limits<double>::infinity();
  for (const EnsembleOutput& output : result.outputs) {
    if (worst == nullptr || output.worst > worst->worst) worst = &output;
    rms = std::max(rms, output.rms);
    if (output.digits > digits) digits = output.digits;
  }
  std::string text = Format("%d runs, worst r %.2g, rms r %.2g; ", result.runs, result.worst(), rms) + Reach(digits);
  if (!result.suspect || worst == nullptr) return text;
  std::vector<int64_t> at;
  int64_t rest = worst->worst_element;
  for (const int64_t stride : RowMajorStrides(worst->shape.dims())) {
    at.push_back(rest / stride);
    rest %= stride;
  }
  return text +
         Format("\n           {%s}[%s] is %.9g, without roundings it is %.9g, and the spread of the runs is %.2g",
                Join(worst->output, ",").c_str(), Join(at, ",").c_str(), worst->actual, worst->expected, worst->spread);
}

void WriteJson(JsonWriter& json, const EnsembleResult& result) {
  json.Open('{').Key("runs").Value(result.runs).Key("suspect").Value(result.suspect);
  if (!result.unsupported.empty()) json.Key("unsupported").Value(result.unsupported);
  json.Key("outputs").Open('[');
  for (const EnsembleOutput& output : result.outputs) {
    json.Open('{').Key("output").Value(Join(output.output, ",")).Key("shape").Value(output.shape.ToString());
    json.Key("worst_r").Value(output.worst).Key("rms_r").Value(output.rms).Key("digits").Value(output.digits);
    json.Key("worst_element").Value(output.worst_element).Key("expected").Value(output.expected);
    json.Key("actual").Value(output.actual).Key("spread").Value(output.spread).Close('}');
  }
  json.Close(']').Close('}');
}

}  // namespace hlo
