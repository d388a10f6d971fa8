#include "gpu/emitters/sort_kernel.h"

#include "gpu/emitters/scalar.h"
#include "gpu/plan/scalar.h"
#include "ir/module.h"

namespace hlo::gpu {

namespace {

Type InBytes(Type type) {
  if (kernel::IsFloat(type) || type == Type::kPred || kernel::Bits(type) >= 8) return type;
  return kernel::IsSigned(type) ? Type::kS8 : Type::kU8;
}

Value SignBit(KernelBuilder& k, Type type) {
  return k.Constant(type, static_cast<int64_t>(uint64_t{1} << (kernel::Bits(type) - 1)));
}

}  // namespace

SortKernel::SortKernel(SortSpace& space, const EmitRequest& request, const SortStepAt& at,
                       std::span<const NodeId> needed)
    : space_(space),
      shape_(request.plan),
      at_(at),
      tiles_(CeilDiv(space.length, shape_.tile)),
      frame_(space.graph, needed, LaunchOf(space, at.step, request.plan), request) {
  KernelBuilder& k = frame_.k();
  k.CountsTo(space.lines() * space.length + shape_.tile);
  if (at.is_last) {
    for (const auto& output : space.outputs) outputs_.push_back(frame_.Output(*output.root));
  }
  const Value block = NumberOfBlock();
  const int64_t blocks = BlocksOfLine(space, at.step, shape_);
  line_ = blocks <= 1 ? block : block / blocks;
  tile_ = blocks <= 1 ? k.Index(0) : block % blocks;
  first_ = tile_ * shape_.tile;
  // A sort without elements still has one block.
  const bool is_empty = space.inst->operand(0).shape().NumElements() == 0;
  count_ = is_empty      ? k.Index(0)
           : tiles_ == 1 ? k.Index(space.length)
                         : Min(k.Index(space.length) - first_, k.Index(shape_.tile));
  Value rest = line_;
  for (size_t i = space.variables.size() - 1; i-- > 0;) {
    const IterationSpace::Variable& variable = space.variables[i];
    frame_.emission().Bind(variable.e, i == 0 ? rest : rest % variable.size);
    rest = i == 0 ? rest : rest / variable.size;
  }
}

Array SortKernel::NextTiles() { return frame_.Scratch(kNextTiles, Type::kU32, DigitPasses(space_, shape_)); }

// Blocks of a radix pass take tiles in the order in which they start (sort_ranks.cpp).
Value SortKernel::NumberOfBlock() {
  if (at_.step != SortStep::kRadixPass) return k().block();
  pass_ = Convert(frame_.Number("pass", at_.pass).Load(0), Type::kIndex);
  const Array next = NextTiles(), taken = k().Shared("taken", Type::kU32, 1);
  k().Phase([&] {
    k().If(k().thread() == 0, [&] {
      const Value one = k().Constant(Type::kU32, 1);
      taken.Store(0, next.AtomicFetch(kernel::AtomicOp::kAdd, pass_, one));
    });
  });
  // If only this kernel runs again, the counter continues, and all tiles still have the states for which blocks wait.
  return Convert(taken.Load(0) % k().Constant(Type::kU32, k().blocks()), Type::kIndex);
}

Array SortKernel::Scratch(SortScratch id, int half, Type type) {
  return frame_.Scratch(id + half, type, space_.lines() * space_.length);
}

void SortKernel::Walk(const RangeBody& body, Value alone) {
  if (shape_.walkers() == 1) return body(k().Index(0), count_);
  k().Phase([&] {
    const Value begin = k().thread() * shape_.chunk, end = Min(begin + shape_.chunk, count_);
    if (!alone) return body(begin, end);
    body(Select(alone & (begin > 0), count_, begin), Select(alone, count_, end));
  });
}

void SortKernel::ForEach(Value count, const IndexBody& body) {
  // Two of the widest elements have 16 bytes. The order of stores depends on the width, so it is the same on every
  // device.
  constexpr int kVector = 2;
  const int64_t step = k().threads() * int64_t{kVector};
  k().Loop(k().Index(0), count, step,
           [&](Value begin) { k().Tile(kVector, count - begin, [&](Value i) { body(begin + i); }); });
}

void SortKernel::SumBefore(Array counts, Value begin, int64_t entries) {
  const auto scan = [&](Value from, Value to, Value sum) {
    const Variable before = k().MakeVariable(sum);
    k().Loop(from, to, 1, [&](Value i) {
      const Value count = counts.Load(begin + i), sum = before.Get();
      counts.Store(begin + i, sum);
      before.Set(sum + count);
    });
  };
  if (shape_.walkers() == 1) return scan(k().Index(0), k().Index(entries), k().Constant(Type::kU32, 0));
  const int64_t part = CeilDiv(entries, k().threads());
  const Slot own = k().MakeSlot(Type::kU32), sum = k().MakeSlot(Type::kU32);
  const auto range = [&](const RangeBody& body) {
    k().Phase([&] {
      const Value from = k().thread() * part;
      body(from, Min(from + part, k().Index(entries)));
    });
  };
  range([&](Value from, Value to) {
    const Variable total = k().MakeVariable(k().Constant(Type::kU32, 0));
    k().Loop(from, to, 1, [&](Value i) { total.Set(total.Get() + counts.Load(begin + i)); });
    own.Set(total.Get());
    sum.Set(total.Get());
  });
  const Slot slots[] = {sum};
  k().BlockScan(slots, kernel::Lift([](Value a, Value b) { return a + b; }));
  range([&](Value from, Value to) { scan(from, to, sum.Get() - own.Get()); });
}

Value SortKernel::Element(int64_t operand, Value position) {
  Emission& emission = frame_.emission();
  const Emission::Scope scope(emission);
  emission.Bind(space_.position().e, position);
  return emission.Emit(space_.elements[operand]);
}

Value SortKernel::Less(Value p, Value q) {
  const Computation* const comparator = space_.comparator();
  if (comparator == nullptr) return KeyAt(p) < KeyAt(q);
  std::vector<Value> arguments;
  for (const Instruction* parameter : comparator->parameters()) {
    const bool is_used = !parameter->users().empty() || parameter->IsRoot();
    const Value at = parameter->parameter_number() % 2 == 0 ? p : q;
    arguments.push_back(is_used ? Element(parameter->parameter_number() / 2, at) : Value());
  }
  return EmitScalarComputation(k(), *comparator, arguments)[0];
}

// ---- Keys --------------------------------------------------------------------------------------------------------

Type SortKernel::key_type() const { return UnsignedOf(KeyBits(*space_.key)); }

// The total order of floats is the order of numbers with sign and magnitude.
Value SortKernel::ToKey(Value number) {
  const Type type = key_type(), from = InBytes(number.type());
  Value key = EmitBits(from == number.type() ? number : Convert(number, from), type);
  const Value sign = SignBit(k(), type);
  if (kernel::IsFloat(from)) key = key ^ Select((key & sign) != 0, ~ConstantLike(key, int64_t{0}), sign);
  else if (kernel::IsSigned(from)) key = key ^ sign;
  return space_.key->descending ? ~key : key;
}

Value SortKernel::FromKey(Value key) {
  const Type declared = KernelTypeOf(space_.key->type), to = InBytes(declared);
  const Value sign = SignBit(k(), key.type());
  if (space_.key->descending) key = ~key;
  if (kernel::IsFloat(to)) key = key ^ Select((key & sign) != 0, sign, ~ConstantLike(key, int64_t{0}));
  else if (kernel::IsSigned(to)) key = key ^ sign;
  if (to == Type::kPred) return key != 0;
  return to == declared ? Bitcast(key, to) : Convert(Bitcast(key, to), declared);
}

Value SortKernel::KeyAt(Value position) { return ToKey(NumberAt(position)); }

Value SortKernel::HasUnordered() {
  if (!space_.key || space_.key->is_total || shape_.walkers() == 1) return Value();
  const Slot seen = k().MakeSlot(Type::kU32);
  Walk([&](Value begin, Value end) {
    seen.Set(k().Constant(Type::kU32, 0));
    k().Loop(begin, end, 1, [&](Value i) {
      const Value number = NumberAt(first_ + i);
      seen.Set(seen.Get() | Convert(number != number, Type::kU32));
    });
  });
  return k().BlockReduce(seen, [](Value a, Value b) { return a | b; }) != 0;
}

Value SortKernel::NumberAt(Value position) {
  const SortKey& key = *space_.key;
  if (key.number == nullptr) return Element(key.element, position);
  std::vector<Value> arguments;
  for (const Instruction* parameter : space_.comparator()->parameters()) {
    const bool is_used = !parameter->users().empty();
    arguments.push_back(is_used ? Element(parameter->parameter_number() / 2, position) : Value());
  }
  return EmitScalarPart(k(), *key.number, arguments);
}

Type SortKernel::carried_type() const {
  return space_.carried < 0 ? Type::kU32 : KernelTypeOf(space_.inst->operand(space_.carried).shape().type());
}

Value SortKernel::CarriedAt(Value position) {
  return space_.carried == SortSpace::kPosition ? Convert(position, Type::kU32) : Element(space_.carried, position);
}

// ---- Results -----------------------------------------------------------------------------------------------------

Value SortKernel::KeptCount() {
  return space_.kept == space_.length ? count_ : Min(count_, k().Index(space_.kept) - first_);
}

void SortKernel::Store(Value place, const std::function<Value(size_t output)>& value) {
  Emission& emission = frame_.emission();
  const auto store = [&] {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Value stored = value(i);
      const Emission::Scope scope(emission);
      emission.Bind(space_.position().e, place);
      outputs_[i].Store(emission.Lower(space_.outputs[i].offset), stored);
    }
  };
  if (space_.kept == space_.length) return store();
  k().If(place < space_.kept, store);
}

void SortKernel::Results(Value place, Value position) {
  Store(place, [&](size_t output) {
    const int64_t result = space_.results[output];
    return result == SortSpace::kPosition ? Convert(position, Type::kS32) : Element(result, position);
  });
}

void SortKernel::Results(Value place, Value key, Value carried) {
  Store(place, [&](size_t output) {
    const int64_t result = space_.results[output];
    if (space_.IsKey(result)) return FromKey(key);
    if (result == SortSpace::kPosition) return Convert(carried, Type::kS32);
    if (space_.carried == result) return carried;
    return Element(result, Convert(carried, Type::kIndex));
  });
}

EmittedKernel SortKernel::Finish(std::string_view what) && { return std::move(frame_).Finish(what); }

// ---- From pass to pass -------------------------------------------------------------------------------------------

MovedKeys::MovedKeys(SortKernel& sort, bool moves) : sort_(sort) {
  const SortStepAt& at = sort.at();
  const int from = (at.pass + 1) % 2, to = at.pass % 2;
  const bool carries = sort.space().carried != SortSpace::kNothing && moves;
  if (at.pass > 0) {
    keys_ = sort.Scratch(kKeys, from, sort.key_type());
    if (carries) carried_ = sort.Scratch(kCarried, from, sort.carried_type());
  }
  if (moves && !at.is_last) {
    keys_to_ = sort.Scratch(kKeys, to, sort.key_type());
    if (carries) carried_to_ = sort.Scratch(kCarried, to, sort.carried_type());
  }
}

Value MovedKeys::KeyAt(Value i) const {
  const Value position = sort_.first() + i;
  return sort_.at().pass == 0 ? sort_.KeyAt(position) : keys_.Load(sort_.InLine(position));
}

Value MovedKeys::CarriedAt(Value i) const {
  const Value position = sort_.first() + i;
  return sort_.at().pass == 0 ? sort_.CarriedAt(position) : carried_.Load(sort_.InLine(position));
}

void MovedKeys::StoreAt(Value place, Value key, Value carried) const {
  if (sort_.at().is_last) return sort_.Results(place, key, carried);
  keys_to_.Store(sort_.InLine(place), key);
  if (carried) carried_to_.Store(sort_.InLine(place), carried);
}

std::vector<NodeId> ReadBy(const SortSpace& space, const SortStepAt& at) {
  const bool finds_results = at.is_last && space.carried == SortSpace::kPosition;
  return at.pass == 0 || finds_results ? space.elements : std::vector<NodeId>();
}

}  // namespace hlo::gpu
