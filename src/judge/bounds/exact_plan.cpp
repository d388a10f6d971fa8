#include "judge/bounds/exact_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.h"
#include "interp/ops/reduce_precision.h"
#include "ir/instruction.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/terms.h"

namespace hlo {
namespace {

using shadow::Combiner;
using shadow::CombinerOf;
using shadow::Rounding;
using shadow::RoundingTo;
using shadow::SignificandBits;
using shadow::TermsOf;

constexpr int kNoUnit = 4000;
constexpr int kTf32Bits = 11;

int LowestBit(double x) {
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(std::fabs(std::ldexp(fraction, 53))));
}

Magnitude Sum(const Magnitude& a, const Magnitude& b) { return {a.most + b.most, std::min(a.unit, b.unit)}; }
Magnitude Product(const Magnitude& a, const Magnitude& b) {
  return {a.most * b.most, a.most == 0 || b.most == 0 ? kNoUnit : a.unit + b.unit};
}

bool HasBits(const Magnitude& magnitude, int bits) {
  return magnitude.most == 0 || magnitude.most <= std::ldexp(1.0, bits + magnitude.unit);
}

// Whether the computation never rounds.
bool OnlyChooses(const Computation& body) {
  const auto is_float = [](const Instruction* inst) {
    return inst->shape().IsArray() && !IsInteger(inst->shape().type()) && inst->shape().type() != PrimitiveType::kPred;
  };
  return std::ranges::all_of(body.Instructions(), [&](const Instruction* inst) {
    const bool chooses = inst->Is(kChooses) || inst->Is(kHandsOn) || inst->Is(Opcode::kCompare) ||
                         inst->Is(Opcode::kCopy) || inst->Is(Opcode::kParameter) || inst->Is(Opcode::kConstant);
    return chooses || (!is_float(inst) && std::ranges::none_of(inst->operands(), is_float));
  });
}

// Whether a fold has one result in any order, because it compares all values. An argmax that compares only keys keeps
// the first or the last of equal ones.
bool ComparesAll(const Computation& body) {
  std::vector<const Instruction*> needed{&body.root()};
  for (size_t i = 0; i < needed.size(); ++i) {
    for (const Instruction* operand : needed[i]->operands()) {
      if (std::ranges::find(needed, operand) == needed.end()) needed.push_back(operand);
    }
  }
  const int64_t values = std::ssize(body.parameters()) / 2;
  for (int64_t i = 0; i < values; ++i) {
    const Instruction &a = body.parameter(i), &b = body.parameter(values + i);
    const bool is_compared = std::ranges::any_of(needed, [&](const Instruction* inst) {
      if (!inst->Is(Opcode::kCompare)) return false;
      const Instruction &left = inst->operand(0), &right = inst->operand(1);
      return (&left == &a && &right == &b) || (&left == &b && &right == &a);
    });
    if (!is_compared) return false;
  }
  return true;
}

std::string Rounds(const Instruction& inst, std::string_view why) {
  return Str("'", inst.name(), "' (", inst.opcode(), ") ", why);
}

}  // namespace

Magnitude MagnitudeOf(const Literal& literal) {
  Magnitude magnitude{.unit = kNoUnit};
  const auto take = [&](double x) {
    if (x == 0 || !std::isfinite(x)) return;
    magnitude.most = std::max(magnitude.most, std::fabs(x));
    if (std::ldexp(std::nearbyint(std::ldexp(x, -magnitude.unit)), magnitude.unit) != x)
      magnitude.unit = std::min(magnitude.unit, LowestBit(x));
  };
  const int64_t count = literal.shape().NumElements();
  if (literal.shape().type() == PrimitiveType::kF32) {
    for (const float x : literal.data<float>()) take(x);
  } else {
    for (int64_t i = 0; i < count; ++i) take(literal.GetDouble(i));
  }
  return magnitude;
}

void ExactPlan::Saw(const Instruction& inst, const Literal& value) {
  if (!exact()) return;
  ++instructions_;
  Keep(inst, value);
  reason_ = ReasonOf(inst);
}

void ExactPlan::Keep(const Instruction& inst, const Literal& value) {
  if (value.shape().IsArray() && !IsComplex(value.shape().type())) seen_[&inst] = MagnitudeOf(value);
}

std::string ExactPlan::WhyRounds(const Instruction& inst, std::span<const Literal> operands, const Literal& value) {
  ExactPlan plan;
  for (size_t i = 0; i < operands.size(); ++i) plan.Keep(inst.operand(static_cast<int64_t>(i)), operands[i]);
  plan.Keep(inst, value);
  return plan.ReasonOf(inst);
}

Magnitude ExactPlan::Of(const Instruction& inst) {
  const auto found = seen_.find(&inst);
  return found == seen_.end() ? Magnitude{std::numeric_limits<double>::infinity(), 0} : found->second;
}

std::string ExactPlan::Fits(const Instruction& inst, const Magnitude& magnitude, const char* what) const {
  const PrimitiveType type = inst.shape().IsArray() ? inst.shape().type() : inst.operand(0).shape().type();
  if (!IsFloat(type)) return "";
  const Rounding rounding = RoundingTo(type, false);
  const int bits = SignificandBits(type);
  if (magnitude.most == 0) return "";
  if (HasBits(magnitude, bits) && magnitude.most < rounding.overflow &&
      std::ldexp(0.5, magnitude.unit) >= rounding.least)
    return "";
  return Rounds(
      inst, Str(what, " of at most ", magnitude.most, magnitude.unit == 0 ? "" : Str(" in steps of 2^", magnitude.unit),
                ", which ", type, " with ", bits, bits == 1 ? " bit" : " bits", " cannot hold"));
}

std::string ExactPlan::SumFits(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init) {
  const PrimitiveType type = inst.shape().IsArray() ? inst.shape().type() : inst.operand(0).shape().type();
  if (IsFloat(type)) sums_ = true;
  return Fits(inst, Sum({term.most * terms, term.unit}, init), "has sums");
}

std::string ExactPlan::Folds(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init) {
  const std::vector<Computation*> called = CalledComputations(inst);
  const Computation& body = *called.back();
  if (OnlyChooses(body)) {
    const bool in_order = CombinerOf(body) == Combiner::kAssign && inst.Is(Opcode::kScatter) &&
                          !inst.attrs<ScatterAttrs>().unique_indices;
    if (in_order) return Rounds(inst, "keeps one of several updates, and it is not defined which one");
    if (body.parameters().size() > 2 && !ComparesAll(body))
      return Rounds(inst, "keeps one of several equal elements, and it is not defined which one");
    return "";
  }
  switch (CombinerOf(body)) {
    case Combiner::kAdd: return SumFits(inst, term, terms, init);
    case Combiner::kMultiply: {
      Magnitude all = init;
      all.most *= std::pow(std::max(1.0, term.most), terms);
      all.unit = static_cast<int>(std::max(-4000.0, init.unit + std::min(0, term.unit) * terms));
      return Fits(inst, all, "has products");
    }
    default: return Rounds(inst, Str("combines elements by '", body.name(), "', which may round"));
  }
}

std::string ExactPlan::OfSum(const Instruction& inst) {
  return SumFits(inst, Of(inst.operand(0)), 1, Of(inst.operand(1)));
}

std::string ExactPlan::OfProduct(const Instruction& inst) {
  return Fits(inst, Product(Of(inst.operand(0)), Of(inst.operand(1))), "has products");
}

std::string ExactPlan::OfQuotient(const Instruction& inst) {
  if (!IsFloat(inst.shape().type())) return "";
  const Magnitude by = Of(inst.operand(1)), x = Of(inst.operand(0));
  if (by.most == 0 || by.most != std::ldexp(1.0, by.unit))
    return Rounds(inst, "rounds: its divisors are not all the same power of two");
  return Fits(inst, {x.most / by.most, x.unit == kNoUnit ? kNoUnit : x.unit - by.unit}, "has quotients");
}

std::string ExactPlan::OfConvert(const Instruction& inst) { return Fits(inst, Of(inst.operand(0)), "has values"); }

std::string ExactPlan::OfReducePrecision(const Instruction& inst) {
  const ReducedPrecision to = ReducedPrecisionOf(inst);
  const int range = 1 << (std::min(to.exponent_bits, to.own_exponent_bits) - 1);
  const Magnitude x = Of(inst.operand(0));
  const bool fits = x.most == 0 || (HasBits(x, static_cast<int>(to.mantissa_bits) + 1) && std::ilogb(x.most) < range &&
                                    x.unit > 2 - range);
  return fits ? "" : Rounds(inst, Str("leaves ", to.mantissa_bits + 1, " bits, which are too few for the operand"));
}

std::string ExactPlan::OfIota(const Instruction& inst) {
  return Fits(inst, {inst.shape().NumElements() == 0 ? 0 : Of(inst).most + 1, 0}, "has numbers");
}

std::string ExactPlan::OfProducts(const Instruction& inst) {
  if (!IsFloat(inst.shape().type())) return "";
  if (inst.Is(Opcode::kDot) && inst.attrs<DotAttrs>().algorithm != DotAlgorithm::kUnset)
    return Rounds(inst, "has the attribute algorithm=, so it may round");
  const Magnitude a = Of(inst.operand(0)), b = Of(inst.operand(1));
  if (options_.allow_tf32 && inst.shape().type() == PrimitiveType::kF32 &&
      !(HasBits(a, kTf32Bits) && HasBits(b, kTf32Bits)))
    return Rounds(inst, "has operands of more than the 11 bits of tf32");
  return SumFits(inst, Product(a, b), TermsOf(inst), {});
}

std::string ExactPlan::OfReduction(const Instruction& inst) {
  return Folds(inst, Of(inst.operand(0)), TermsOf(inst), Of(inst.operand(inst.operand_count() / 2)));
}

std::string ExactPlan::OfSelectAndScatter(const Instruction& inst) {
  return Folds(inst, Of(inst.operand(1)), TermsOf(inst), Of(inst.operand(2)));
}

std::string ExactPlan::OfScatter(const Instruction& inst) {
  const Instruction& updates = inst.operand((inst.operand_count() - 1) / 2 + 1);
  return Folds(inst, Of(updates), static_cast<double>(updates.shape().NumElements()), Of(inst.operand(0)));
}

std::string ExactPlan::OfMap(const Instruction& inst) {
  return OnlyChooses(*inst.attrs<MapAttrs>().to_apply) ? "" : Rounds(inst, "applies a computation that may round");
}

std::string ExactPlan::OfSort(const Instruction& inst) {
  const SortAttrs& attrs = inst.attrs<SortAttrs>();
  const bool plain = inst.operand_count() == 1 && attrs.to_apply->root().Is(Opcode::kCompare) &&
                     attrs.to_apply->root().operand(0).Is(Opcode::kParameter);
  return attrs.is_stable || plain ? "" : Rounds(inst, "does not define the order of equal keys");
}

std::string ExactPlan::MayRound(const Instruction& inst) { return Rounds(inst, "may round"); }

// Integer ops, movements, and ops without ulps in ir/ops.def have no rule.
std::string ExactPlan::ReasonOf(const Instruction& inst) {
  struct Rule {
    Opcode opcode;
    std::string (ExactPlan::*reason)(const Instruction&);
  };
  static constexpr Rule kRules[] = {
      {Opcode::kAdd, &ExactPlan::OfSum},
      {Opcode::kBatchNormGrad, &ExactPlan::MayRound},
      {Opcode::kBatchNormInference, &ExactPlan::MayRound},
      {Opcode::kBatchNormTraining, &ExactPlan::MayRound},
      {Opcode::kCholesky, &ExactPlan::MayRound},
      {Opcode::kConvert, &ExactPlan::OfConvert},
      {Opcode::kConvolution, &ExactPlan::OfProducts},
      {Opcode::kCustomCall, &ExactPlan::MayRound},
      {Opcode::kDivide, &ExactPlan::OfQuotient},
      {Opcode::kDot, &ExactPlan::OfProducts},
      {Opcode::kFft, &ExactPlan::MayRound},
      {Opcode::kIota, &ExactPlan::OfIota},
      {Opcode::kMap, &ExactPlan::OfMap},
      {Opcode::kMultiply, &ExactPlan::OfProduct},
      {Opcode::kRaggedDot, &ExactPlan::MayRound},
      {Opcode::kReduce, &ExactPlan::OfReduction},
      {Opcode::kReducePrecision, &ExactPlan::OfReducePrecision},
      {Opcode::kReduceWindow, &ExactPlan::OfReduction},
      {Opcode::kScaledDot, &ExactPlan::MayRound},
      {Opcode::kScan, &ExactPlan::MayRound},
      {Opcode::kScatter, &ExactPlan::OfScatter},
      {Opcode::kSelectAndScatter, &ExactPlan::OfSelectAndScatter},
      {Opcode::kSort, &ExactPlan::OfSort},
      {Opcode::kStochasticConvert, &ExactPlan::MayRound},
      {Opcode::kSubtract, &ExactPlan::OfSum},
      {Opcode::kTriangularSolve, &ExactPlan::MayRound},
  };
  const bool is_array = inst.shape().IsArray();
  if (is_array && IsComplex(inst.shape().type()) && !inst.Is(Opcode::kParameter))
    return Rounds(inst, "has complex numbers, which are not analysed");
  const auto rule = std::ranges::find(kRules, inst.opcode(), &Rule::opcode);
  if (rule != std::end(kRules)) return (this->*rule->reason)(inst);
  const bool rounds =
      inst.Is(kElementwise) && is_array && IsFloat(inst.shape().type()) && RowOf(inst.opcode()).ulps > 0;
  return rounds ? Rounds(inst, "rounds") : "";
}

}  // namespace hlo
