#include "driver/fuzz/grower.h"

#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "ir/dimensions.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {
namespace {

using enum PrimitiveType;

struct WeightedType {
  PrimitiveType type;
  int weight;
};
constexpr WeightedType kKernelTypes[] = {{kF32, 40}, {kBF16, 14}, {kF16, 8}, {kF64, 8}, {kS32, 12},
                                         {kPred, 6}, {kS8, 3},    {kU8, 4},  {kS16, 2}, {kU16, 2},
                                         {kU32, 4},  {kS64, 4},   {kU64, 2}};
constexpr WeightedType kWideTypes[] = {{kC64, 6},
                                       {kC128, 3},
                                       {kS4, 3},
                                       {kU4, 3},
                                       {kS2, 1},
                                       {kU2, 1},
                                       {kF8E5M2, 2},
                                       {kF8E4M3, 1},
                                       {kF8E4M3FN, 3},
                                       {kF8E3M4, 1},
                                       {kF8E4M3B11FNUZ, 1},
                                       {kF8E5M2FNUZ, 1},
                                       {kF8E4M3FNUZ, 1},
                                       {kF4E2M1FN, 1},
                                       {kF6E3M2FN, 1},
                                       {kF6E2M3FN, 1},
                                       {kF8E8M0FNU, 1},
                                       {kS1, 1},
                                       {kU1, 1}};

PrimitiveType Draw(Chance& chance, std::span<const WeightedType> types) {
  int total = 0;
  for (const WeightedType& type : types) total += type.weight;
  int64_t at = chance.Below(total);
  size_t i = 0;
  while (at >= types[i].weight) at -= types[i++].weight;
  return types[i].type;
}

bool Injection(const Dims& from, const Dims& to, std::vector<int64_t>* places) {
  size_t next = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(to.size()) && next < from.size(); ++i) {
    if (to[i] == from[next]) {
      places->push_back(i);
      ++next;
    }
  }
  return next == from.size();
}

}  // namespace

std::vector<int64_t> Chance::Sample(int64_t limit, int64_t count) {
  std::vector<int64_t> all(limit);
  for (int64_t i = 0; i < limit; ++i) all[i] = i;
  for (int64_t i = 0; i < count; ++i) std::swap(all[i], all[Between(i, limit - 1)]);
  all.resize(count);
  return all;
}

std::vector<int64_t> Chance::SortedSample(int64_t limit, int64_t count) {
  std::vector<int64_t> sample = Sample(limit, count);
  std::sort(sample.begin(), sample.end());
  return sample;
}

Grower::Grower(Module& module, const GrowOptions& options)
    : chance(options.seed * 0x2545F4914F6CDD1D + 1), module_(module), options_(options), steps_left_(2'000'000) {
  wide_ = chance.Percent(25);
}

bool Grower::Spend(int64_t steps) {
  if (steps > steps_left_) return false;
  steps_left_ -= steps;
  return true;
}

// ---- Adding --------------------------------------------------------------------------------------------------------

Instruction& Grower::AddUnchecked(Opcode opcode, Shape shape, Operands operands, Attributes attrs) {
  return scope_.computation->Add(opcode, std::move(shape), std::move(operands), std::move(attrs));
}

Instruction& Grower::Add(Opcode opcode, Operands operands, Attributes attrs) {
  Instruction& inst = AddUnchecked(opcode, Shape(), std::move(operands), std::move(attrs));
  auto shape = InferShape(inst);
  CHECK(shape.has_value(), "grown '", opcode, "' has no shape: ", shape.error().message());
  inst.SetShape(shape->WithDefaultLayout());
  return inst;
}

Instruction& Grower::AddShaped(Opcode opcode, Shape shape, Operands operands, Attributes attrs) {
  return AddUnchecked(opcode, std::move(shape), std::move(operands), std::move(attrs));
}

void Grower::Keep(Instruction& inst) {
  const Shape& shape = inst.shape();
  if (shape.IsTuple()) {
    for (int64_t i = 0; i < std::ssize(shape.elements()); ++i) {
      Instruction& part = computation().AddGetTupleElement(inst, i);
      SetInterval(part, IntervalOf(inst));
      Keep(part);
    }
    return;
  }
  if (!shape.IsArray()) return;
  scope_.pool.push_back(&Bounded(inst, LimitOf(shape.type())));
}

// ---- Values --------------------------------------------------------------------------------------------------------

Instruction* Grower::Pick(const std::function<bool(const Shape&)>& fits) {
  std::vector<Instruction*> unused, all;
  for (Instruction* value : scope_.pool) {
    if (!fits(value->shape())) continue;
    all.push_back(value);
    if (value->users().empty()) unused.push_back(value);
  }
  if (all.empty()) return nullptr;
  if (!unused.empty() && chance.Percent(60)) return chance.OneOf(unused);
  return chance.OneOf(all);
}

Instruction& Grower::PickOf(const std::function<bool(PrimitiveType)>& fits, int64_t least_rank) {
  if (!chance.Percent(15)) {
    Instruction* found = Pick([&](const Shape& shape) { return fits(shape.type()) && shape.rank() >= least_rank; });
    if (found != nullptr) return *found;
  }
  PrimitiveType type = AnyType();
  for (int tries = 0; tries < 100 && !fits(type); ++tries) type = AnyType();
  // If no drawn type fits, takes one from the tables.
  if (!fits(type)) {
    for (const auto& list : {std::span<const WeightedType>(kKernelTypes), std::span<const WeightedType>(kWideTypes)}) {
      for (const WeightedType& row : list) {
        if (!fits(type) && fits(row.type)) type = row.type;
      }
    }
  }
  return Any(type, AnyDims(least_rank, std::max<int64_t>(least_rank, 4)));
}

Instruction& Grower::Any(PrimitiveType type, const Dims& dims) {
  if (chance.Percent(8)) return Splat(type, dims, static_cast<double>(chance.Below(2)));
  if (chance.Percent(75)) {
    Instruction* same = Pick([&](const Shape& shape) { return shape.type() == type && shape.dims() == dims; });
    if (same != nullptr) return *same;
  }
  if (chance.Percent(70)) {
    Instruction* other = Pick([&](const Shape& shape) { return IsComplex(shape.type()) == IsComplex(type); });
    if (other != nullptr) return Adapt(*other, type, dims);
  }
  return Leaf(type, dims);
}

Instruction& Grower::Convert(Instruction& value, PrimitiveType type) {
  const PrimitiveType from = value.shape().type();
  if (from == type) return value;
  Instruction* x = &value;
  if (IsFloat(type) || IsComplex(type)) {
    if (IsFloat(from) || IsComplex(from)) {
      x = &Bounded(value, LimitOf(type));
    } else if (from != kPred && LimitOf(type) < std::ldexp(1.0, BitWidth(from))) {
      const double limit = std::min(LimitOf(type), std::ldexp(1.0, BitWidth(from) - 1) - 1);
      Instruction& low = Scalar(from, IsSigned(from) ? -std::floor(limit) : 0);
      x = &Add(Opcode::kClamp, {&low, &value, &Scalar(from, std::floor(limit))});
    }
  }
  Instruction& result = AddShaped(Opcode::kConvert, value.shape().WithType(type).WithDefaultLayout(), {x});
  if (IsFloat(type) || IsComplex(type)) {
    const double limit = LimitOf(type);
    SetInterval(result, IsFloat(from) || IsComplex(from) ? IntervalOf(*x)
                        : from == kPred                  ? Interval{0, 1}
                                                         : Interval{IsSigned(from) ? -limit : 0, limit});
  }
  return result;
}

Instruction& Grower::Adapt(Instruction& value, PrimitiveType type, const Dims& dims) {
  Instruction* x = &Convert(value, type);
  const Shape wanted(type, dims);
  const auto moved = [&](Instruction& result) -> Instruction& {
    SetInterval(result, {std::min(0.0, IntervalOf(*x).low), std::max(0.0, IntervalOf(*x).high)});
    x = &result;
    return result;
  };
  if (x->shape().dims() == dims) return *x;
  std::vector<int64_t> places;
  if (Injection(x->shape().dims(), dims, &places) && chance.Percent(80))
    return moved(AddShaped(Opcode::kBroadcast, wanted, {x}, DimensionsAttrs{places}));
  if (x->shape().rank() != wanted.rank() || chance.Percent(20)) {
    if (x->shape().NumElements() == wanted.NumElements())
      return moved(AddShaped(Opcode::kReshape, wanted, {x}, ReshapeAttrs()));
    if (x->shape().rank() != 1)
      moved(AddShaped(Opcode::kReshape, Shape(type, {x->shape().NumElements()}), {x}, ReshapeAttrs()));
  }
  const bool flat = x->shape().rank() != wanted.rank();
  const Dims target = flat ? Dims{wanted.NumElements()} : dims;
  bool smaller = true;
  PaddingConfig padding;
  SliceRanges ranges;
  for (int64_t i = 0; i < std::ssize(target); ++i) {
    const int64_t size = x->shape().dim(i), more = target[i] - size;
    smaller &= more <= 0;
    const int64_t start = more < 0 ? chance.Between(0, -more) : 0;
    ranges.dims.push_back({start, start + target[i], 1});
    const int64_t low = chance.Between(std::min<int64_t>(more, 0), std::max<int64_t>(more, 0));
    padding.dims.push_back({low, more - low, 0});
  }
  if (smaller && chance.Percent(70)) {
    moved(AddShaped(Opcode::kSlice, Shape(type, target), {x}, SliceAttrs{ranges}));
  } else {
    moved(Add(Opcode::kPad, {x, &Scalar(type, chance.Below(2))}, PadAttrs{padding}));
    if (IsFloat(type) || IsComplex(type)) SetInterval(*x, {IntervalOf(*x).low, std::max(1.0, IntervalOf(*x).high)});
  }
  if (flat) moved(AddShaped(Opcode::kReshape, wanted, {x}, ReshapeAttrs()));
  return *x;
}

Instruction& Grower::Leaf(PrimitiveType type, const Dims& dims) {
  const bool entry = scope_.depth == 0;
  if (scope_.open && std::ssize(computation().parameters()) < (entry ? 12 : 6) && chance.Percent(80)) {
    Instruction& parameter = Parameter(Shape(type, dims));
    Keep(parameter);
    return parameter;
  }
  Instruction& constant = Constant(type, dims);
  Keep(constant);
  return constant;
}

Instruction& Grower::Parameter(const Shape& shape) {
  Instruction& parameter = computation().AddParameter(std::ssize(computation().parameters()), shape);
  // Generated floats are in [-1, 1). A caller's value may reach the limit of its type.
  SetInterval(parameter, {-1, 1});
  if (scope_.depth > 0 && shape.IsArray()) SetInterval(parameter, {-LimitOf(shape.type()), LimitOf(shape.type())});
  return parameter;
}

Instruction& Grower::Constant(PrimitiveType type, const Dims& dims) {
  const int64_t elements = Product(dims);
  const bool number = IsInteger(type) || IsFloat(type) || IsComplex(type);
  if (number && !dims.empty() && type != kS1 && type != kU1 && chance.Percent(35)) {
    IotaAttrs iota{chance.Below(std::ssize(dims))};
    const int64_t size = dims[iota.iota_dimension];
    // A longer iota of floats could be infinite.
    if (IsInteger(type) || size <= LimitOf(type)) {
      Instruction& inst = AddShaped(Opcode::kIota, Shape(type, dims), {}, iota);
      SetInterval(inst, {0, static_cast<double>(size)});
      return inst;
    }
  }
  if (elements > 24) return Splat(type, dims, static_cast<double>(chance.Between(IsUnsigned(type) ? 0 : -2, 2)));
  Literal literal(Shape(type, dims));
  for (int64_t i = 0; i < elements; ++i) {
    if (type == kPred || BitWidth(type) <= 2) literal.SetDouble(i, static_cast<double>(chance.Below(2)));
    else if (IsUnsigned(type)) literal.SetDouble(i, static_cast<double>(chance.Below(6)));
    else literal.SetDouble(i, static_cast<double>(chance.Between(-8, 8)) / (IsFloat(type) ? 4 : 2));
  }
  Instruction& inst = computation().AddConstant(std::move(literal));
  SetInterval(inst, {-4, 4});
  return inst;
}

Instruction& Grower::Scalar(PrimitiveType type, double value) {
  Instruction& inst = computation().AddConstant(Literal::Scalar(type, value));
  SetInterval(inst, {value, value});
  return inst;
}

Instruction& Grower::Splat(PrimitiveType type, const Dims& dims, double value) {
  Instruction& scalar = Scalar(type, value);
  if (dims.empty()) return scalar;
  Instruction& inst = AddShaped(Opcode::kBroadcast, Shape(type, dims), {&scalar}, DimensionsAttrs());
  SetInterval(inst, {value, value});
  return inst;
}

PrimitiveType Grower::AnyType() {
  return wide_ && chance.Percent(30) ? Draw(chance, kWideTypes) : Draw(chance, kKernelTypes);
}

int64_t Grower::AnySize(int64_t most) {
  static constexpr int64_t kSmall[] = {2, 3, 4, 5, 6, 7, 8};
  static constexpr int64_t kEdges[] = {15,  16,  17,  31,  32,  33,  63,  64,   65,   127, 128,
                                       129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025};
  if (most < 2 || chance.Percent(12)) return most < 1 ? 0 : 1;
  int64_t size = chance.Percent(55) ? chance.OneOf(kSmall) : chance.OneOf(kEdges);
  while (size > most) size = chance.Between(1, size - 1);
  return size;
}

Dims Grower::AnyDims(int64_t least_rank, int64_t most_rank) {
  if (scalars_only()) return {};
  const int64_t rank = chance.Between(least_rank, most_rank);
  Dims dims;
  int64_t left = options_.max_elems;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = chance.Percent(1) ? 0 : AnySize(left);
    // If sizes are equal, a fault that swaps dimensions shows only in values.
    if (!dims.empty() && dims.back() <= left && chance.Percent(20)) size = dims.back();
    if (size > 0) left /= size;
    dims.push_back(size);
  }
  return dims;
}

// ---- Intervals -----------------------------------------------------------------------------------------------------

double Grower::LimitOf(PrimitiveType type) {
  using enum PrimitiveType;  // The formats of small floats have the same names.
  switch (type) {
    case kF64:
    case kF32:
    case kBF16:
    case kC64:
    case kC128: return 1e4;
    case kF16: return 128;
    case kF8E5M2:
    case kF8E5M2FNUZ: return 64;
    case kF8E4M3:
    case kF8E4M3FN:
    case kF8E4M3FNUZ: return 8;
    case kF8E4M3B11FNUZ:
    case kF8E3M4:
    case kF6E3M2FN: return 4;
    case kF4E2M1FN:
    case kF6E2M3FN: return 2;
    default: return std::ldexp(1.0, 62);
  }
}

Interval Grower::IntervalOf(const Instruction& value) const {
  if (value.id() < std::ssize(intervals_)) return intervals_[value.id()];
  return {-1, 1};
}

void Grower::SetInterval(const Instruction& value, Interval interval) {
  if (value.id() >= std::ssize(intervals_)) intervals_.resize(value.id() + 1, {-1, 1});
  intervals_[value.id()] = interval;
}

Instruction& Grower::Bounded(Instruction& value, double limit) {
  const PrimitiveType type = value.shape().type();
  const Interval is = IntervalOf(value);
  if ((!IsFloat(type) && !IsComplex(type)) || is.size() <= limit) return value;
  const int64_t how = IsComplex(type) ? 0 : chance.Below(4);
  if (how >= 2) {
    // Other bounds than powers of two might be rounded up beyond the limit.
    const double bound = std::exp2(std::floor(std::log2(limit)));
    Instruction& low = Scalar(type, -bound);
    Instruction& result = Add(Opcode::kClamp, {&low, &value, &Scalar(type, bound)});
    SetInterval(result, {std::max(is.low, -bound), std::min(is.high, bound)});
    return result;
  }
  if (how == 1 && limit >= 1) {
    Instruction& result = Add(Opcode::kTanh, {&value});
    SetInterval(result, {-1, 1});
    return result;
  }
  const double factor = std::exp2(-std::ceil(std::log2(is.size() / limit)));
  // The factor itself may be too small for a narrow type.
  if (BitWidth(type) < 16 || (type == PrimitiveType::kF16 && factor < 1e-4)) {
    const double bound = std::exp2(std::floor(std::log2(limit)));
    Instruction& low = Scalar(type, -bound);
    Instruction& result = Add(Opcode::kClamp, {&low, &value, &Scalar(type, bound)});
    SetInterval(result, {-bound, bound});
    return result;
  }
  Instruction& result = Add(Opcode::kMultiply, {&value, &Splat(type, value.shape().dims(), factor)});
  SetInterval(result, {is.low * factor, is.high * factor});
  return result;
}

Instruction& Grower::Positive(Instruction& value, double least) {
  const PrimitiveType type = value.shape().type();
  if (IsComplex(type) || IntervalOf(value).low >= least) return value;
  Instruction& absolute = Add(Opcode::kAbs, {&value});
  Instruction& result = Add(Opcode::kAdd, {&absolute, &Splat(type, value.shape().dims(), least)});
  SetInterval(absolute, {0, IntervalOf(value).size()});
  SetInterval(result, {least, IntervalOf(value).size() + least});
  return result;
}

// ---- Computations --------------------------------------------------------------------------------------------------

Computation& Grower::ScalarBinary(Opcode opcode, PrimitiveType type) {
  Computation*& made = binaries_[{opcode, type}];
  if (made != nullptr) return *made;
  made = &InComputation(Str(opcode, "_", type), [&] {
    Instruction& x = Parameter(Shape::Scalar(type));
    Instruction& y = Parameter(Shape::Scalar(type));
    computation().SetRoot(Add(opcode, {&x, &y}));
  });
  return *made;
}

Computation& Grower::InComputation(std::string_view name, const std::function<void()>& grow) {
  Scope outer = std::move(scope_);
  scope_ = Scope{.computation = &module_.AddComputation(name),
                 .depth = outer.depth + 1,
                 .budget = outer.budget / 3,
                 .scalars_only = outer.scalars_only};
  Computation& made = *scope_.computation;
  grow();
  scope_ = std::move(outer);
  return made;
}

Computation& Grower::InOpenComputation(std::string_view name, Operands* operands, const std::function<void()>& grow) {
  Computation& made = InComputation(name, [&] {
    scope_.open = true;
    grow();
  });
  for (Instruction* parameter : made.parameters()) {
    const Shape& shape = parameter->shape();
    operands->push_back(&Any(shape.type(), shape.dims()));
  }
  return made;
}

std::vector<Instruction*> Grower::Unused() {
  std::vector<Instruction*> unused;
  for (Instruction* inst : computation().Instructions()) {
    if (inst->users().empty() && !inst->Is(Opcode::kParameter) && !inst->shape().IsToken()) unused.push_back(inst);
  }
  return unused;
}

void Grower::SetRoot() {
  std::vector<Instruction*> results;
  for (Instruction* inst : Unused()) {
    if (results.empty() || !chance.Percent(10)) results.push_back(inst);
  }
  if (results.size() == 1 && chance.Percent(50)) return computation().SetRoot(*results[0]);
  computation().SetRoot(computation().AddTuple(Operands(results.begin(), results.end())));
}

void Grower::ChangeLayouts() {
  for (Instruction* inst : computation().Instructions()) {
    const Shape& shape = inst->shape();
    if (!shape.IsArray() || shape.rank() < 2 || !chance.Percent(30)) continue;
    // Their layouts must fit an operand, a tuple or a computation.
    if (inst->Is(Opcode::kGetTupleElement) || inst->Is(Opcode::kCall) || inst->Is(Opcode::kFusion) ||
        inst->Is(Opcode::kConditional) || inst->Is(Opcode::kBitcast) || inst->Is(Opcode::kOptimizationBarrier))
      continue;
    Layout layout = shape.layout();
    const std::vector<int64_t> order = chance.Sample(shape.rank(), shape.rank());
    for (int64_t i = 0; i < shape.rank(); ++i) layout.minor_to_major[i] = static_cast<int16_t>(order[i]);
    Shape changed = shape;
    changed.SetLayout(layout);
    if (inst->Is(Opcode::kConstant)) inst->mutable_attrs<ConstantAttrs>().literal.SetLayout(layout);
    inst->SetShape(std::move(changed));
  }
}

void Grower::GrowEntry() {
  scope_ = Scope{.computation = &module_.AddComputation("main"), .depth = 0, .budget = options_.max_instructions};
  scope_.open = true;
  module_.SetEntry(*scope_.computation);
  if (chance.Percent(10)) {
    const PrimitiveType a = AnyType(), b = AnyType();
    Keep(Parameter(Shape::Tuple({Shape(a, AnyDims(0, 3)), Shape::Tuple({Shape(b, AnyDims(0, 3))})})));
  }
  for (int64_t i = chance.Between(1, 3); i > 0; --i) {
    const PrimitiveType type = AnyType();
    Keep(Parameter(Shape(type, AnyDims(0, 4))));
  }
  GrowSome(chance.Between(std::max<int64_t>(1, options_.max_instructions / 3), options_.max_instructions));
  if (Unused().empty()) computation().SetRoot(*scope_.pool.back());
  else if (chance.Percent(20)) {
    ChangeLayouts();
    SetRoot();
  } else {
    SetRoot();
  }
  // Sets the header as parsing the text would.
  std::vector<Shape> parameters;
  for (const Instruction* parameter : computation().parameters()) parameters.push_back(parameter->shape());
  module_.header.entry_parameters = Shape::Tuple(std::move(parameters));
  module_.header.entry_result = computation().root().shape();
}

}  // namespace hlo
