// Expands random numbers to arithmetic on the bits of philox. Its key is made of the run's seed and the replica, and
// each device has a state. The interpreter gives the same bits: docs/ops.md#random-numbers.
#include <numbers>

#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

class Expansion {
 public:
  explicit Expansion(Instruction& inst) : inst_(inst), type_(inst.shape().type()), count_(inst.shape().NumElements()) {}

  struct Made {
    Instruction* state;  // Advances the state.
    Instruction* value;
  };
  Made Run() {
    Instruction* value;
    if (type_ == PrimitiveType::kPred) {
      Instruction* const bits = Bits(PrimitiveType::kU32, count_);
      value = Compare(Binary(Opcode::kAnd, bits, Number(1, bits)), Number(0, bits), ComparisonDirection::kNe);
    } else if (IsFloat(type_)) {
      const PrimitiveType wide = type_ == PrimitiveType::kF64 ? type_ : PrimitiveType::kF32;
      const bool normal = inst_.attrs<RngAttrs>().distribution == RandomDistribution::kNormal;
      value = normal ? Normal(wide) : Uniform(wide);
    } else {
      value = Integers();
    }
    return {state_, Reshape(value, inst_.shape())};
  }

 private:
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Step(inst_, opcode, a->shape(), {a, b}); }
  Instruction* Unary(Opcode opcode, Instruction* a) { return Step(inst_, opcode, a->shape(), {a}); }
  Instruction* As(Instruction* a, PrimitiveType type) {
    return a->shape().type() == type ? a : Step(inst_, Opcode::kConvert, a->shape().WithType(type), {a});
  }
  Instruction* Widen(Instruction* scalar, const Instruction* to) {
    if (to->shape().IsScalar()) return scalar;
    return Step(inst_, Opcode::kBroadcast, to->shape().WithType(scalar->shape().type()), {scalar}, DimensionsAttrs{});
  }
  Instruction* Number(double value, const Instruction* like) {
    return Widen(&inst_.computation().AddConstant(Literal::Scalar(like->shape().type(), value)), like);
  }
  Instruction* Compare(Instruction* a, Instruction* b, ComparisonDirection direction) {
    return Step(inst_, Opcode::kCompare, a->shape().WithType(PrimitiveType::kPred), {a, b},
                CompareAttrs{direction, ComparisonType::kDefault});
  }
  Instruction* Select(Instruction* which, Instruction* a, Instruction* b) {
    return Step(inst_, Opcode::kSelect, a->shape(), {which, a, b});
  }
  Instruction* Reshape(Instruction* a, const Shape& to) {
    return a->shape() == to ? a : Step(inst_, Opcode::kReshape, to, {a}, ReshapeAttrs{});
  }
  Instruction* Part(Instruction* pairs, int64_t part) {
    const Shape column = pairs->shape().WithDims({pairs->shape().dim(0), 1});
    return Step(inst_, Opcode::kSlice, column, {pairs},
                SliceAttrs{SliceRanges{{{0, column.dim(0), 1}, {part, part + 1, 1}}}});
  }

  // Advances the state by the number of 32-bit words in the result. The generator needs at most as many blocks.
  Instruction* Bits(PrimitiveType type, int64_t count) {
    const Shape word(PrimitiveType::kU64, Dims{1}), two(PrimitiveType::kU64, Dims{2}),
        three(PrimitiveType::kU64, Dims{3});
    CustomCallAttrs call;
    call.target = "GetRngSeed";
    Instruction* key = Step(inst_, Opcode::kCustomCall, Shape(PrimitiveType::kU64, Dims{}), {}, call);
    if (inst_.module().header.replica_count > 1) {
      Instruction* const replica = Step(inst_, Opcode::kReplicaId, Shape(PrimitiveType::kU32, Dims{}), {});
      key = Binary(Opcode::kXor, key, As(replica, PrimitiveType::kU64));
    }
    state_ = Step(inst_, Opcode::kRngGetAndUpdateState, two, {}, RngStateAttrs{count_ * (BitWidth(type) / 32)});
    Instruction* const from =
        Step(inst_, Opcode::kConcatenate, three, {Reshape(key, word), state_}, OneDimensionAttrs{{0}});
    Instruction* const drawn = Step(inst_, Opcode::kRngBitGenerator, Shape::Tuple({three, Shape(type, Dims{count})}),
                                    {from}, RngBitGeneratorAttrs{RandomAlgorithm::kPhilox});
    return &inst_.computation().AddGetTupleElement(*drawn, 1);
  }
  // Fractions in [0, 1), made of the highest bits.
  Instruction* Fractions(PrimitiveType type, int64_t count) {
    const bool wide = type == PrimitiveType::kF64;
    Instruction* const bits = Bits(wide ? PrimitiveType::kU64 : PrimitiveType::kU32, count);
    Instruction* const whole = As(Binary(Opcode::kShiftRightLogical, bits, Number(wide ? 12 : 9, bits)), type);
    return Binary(Opcode::kMultiply, whole, Number(wide ? 0x1p-52 : 0x1p-23, whole));
  }

  // a + u * (b - a), or a if rounding gives b or more.
  Instruction* Uniform(PrimitiveType type) {
    Instruction *const low = &inst_.operand(0), *const high = &inst_.operand(1);
    Instruction* const fraction = Fractions(type, count_);
    Instruction* const range = Binary(Opcode::kSubtract, As(high, type), As(low, type));
    Instruction* const scaled = Binary(Opcode::kMultiply, fraction, Widen(range, fraction));
    Instruction* const value = As(Binary(Opcode::kAdd, scaled, Widen(As(low, type), fraction)), type_);
    Instruction* const outside = Binary(Opcode::kAnd, Compare(value, Widen(high, value), ComparisonDirection::kGe),
                                        Widen(Compare(low, high, ComparisonDirection::kLt), value));
    return Select(outside, Widen(low, value), value);
  }

  // Box and Muller: the first fraction of each pair gives the radius, the second the angle of a sine and a cosine.
  Instruction* Normal(PrimitiveType type) {
    const int64_t pairs = (count_ + 1) / 2;
    Instruction* const fractions = Reshape(Fractions(type, 2 * pairs), Shape(type, Dims{pairs, 2}));
    Instruction* const first = Part(fractions, 0);
    Instruction* const tame = Binary(Opcode::kMaximum, first, Number(1e-7, first));
    Instruction* const log = Unary(Opcode::kLog, tame);
    Instruction* const radius = Unary(Opcode::kSqrt, Binary(Opcode::kMultiply, Number(-2.0, log), log));
    Instruction* angle = Part(fractions, 1);
    angle = Binary(Opcode::kMultiply, Number(2 * std::numbers::pi, angle), angle);
    Instruction* const sine = Binary(Opcode::kMultiply, Unary(Opcode::kSin, angle), radius);
    Instruction* const cosine = Binary(Opcode::kMultiply, Unary(Opcode::kCos, angle), radius);
    Instruction* values = Step(inst_, Opcode::kConcatenate, fractions->shape(), {sine, cosine}, OneDimensionAttrs{{1}});
    values = Reshape(values, Shape(type, Dims{2 * pairs}));
    if (count_ % 2 != 0)
      values =
          Step(inst_, Opcode::kSlice, Shape(type, Dims{count_}), {values}, SliceAttrs{SliceRanges{{{0, count_, 1}}}});
    Instruction* const scaled = Binary(Opcode::kMultiply, values, Widen(As(&inst_.operand(1), type), values));
    return As(Binary(Opcode::kAdd, scaled, Widen(As(&inst_.operand(0), type), values)), type_);
  }

  // a + bits mod (b - a), or a if the interval is empty.
  Instruction* Integers() {
    const bool wide = BitWidth(type_) == 64;
    const PrimitiveType bits_type = wide ? PrimitiveType::kU64 : PrimitiveType::kU32;
    // A narrow signed type is first widened, which extends the sign.
    const auto unsign = [&](Instruction* a) {
      if (IsSigned(type_)) a = As(a, wide ? PrimitiveType::kS64 : PrimitiveType::kS32);
      return As(a, bits_type);
    };
    Instruction *const low = unsign(&inst_.operand(0)), *const high = unsign(&inst_.operand(1));
    Instruction* const some = Compare(&inst_.operand(0), &inst_.operand(1), ComparisonDirection::kLt);
    Instruction* const range = Select(some, Binary(Opcode::kSubtract, high, low), Number(1, low));
    Instruction* const bits = Bits(bits_type, count_);
    Instruction* const rest = Binary(Opcode::kRemainder, bits, Widen(range, bits));
    return As(Binary(Opcode::kAdd, rest, Widen(low, rest)), type_);
  }

  Instruction& inst_;
  const PrimitiveType type_;
  const int64_t count_;
  Instruction* state_ = nullptr;
};

bool Expands(const Instruction& inst) {
  const Shape& shape = inst.shape();
  return inst.Is(Opcode::kRng) && !IsComplex(shape.type()) && !shape.HasDynamicDims() && shape.NumElements() > 0 &&
         (IsFloat(shape.type()) || inst.attrs<RngAttrs>().distribution == RandomDistribution::kUniform);
}

// Control edges keep the order of draws, because each continues from the previous state.
bool ExpandIn(Computation& computation, const PassContext& context) {
  bool changed = false;
  std::vector<Instruction*> draws;
  std::vector<bool> awaited(computation.place_limit());
  for (const Instruction* inst : computation.instructions()) {
    for (const Instruction* before : inst->control_predecessors()) awaited[before->place()] = true;
  }
  for (Instruction* inst : computation.PostOrder()) {
    if (inst->Is(Opcode::kRngGetAndUpdateState) || inst->Is(Opcode::kRng)) draws.push_back(inst);
    if (!Expands(*inst) || awaited[inst->place()] || !context.ConsumeFuel()) continue;
    const auto [state, value] = Expansion(*inst).Run();
    for (Instruction* before : inst->control_predecessors()) state->AddControlPredecessor(*before);
    inst->ClearControlPredecessors();
    inst->ReplaceAllUses(*value);
    computation.Remove(*inst);
    draws.back() = state;
    changed = true;
  }
  if (!changed) return false;
  for (size_t i = 1; i < draws.size(); ++i) draws[i]->AddControlPredecessor(*draws[i - 1]);
  return true;
}

}  // namespace

// Skips fusions, which have no random state.
Result<bool> ExpandRandom(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= ExpandIn(*computation, context);
  return changed;
}

}  // namespace hlo
