// The part of the builder for values, arrays, slots and variables (builder.h).
#include "gpu/kernel/builder.h"

#include <array>
#include <bit>
#include <utility>

#include "base/check.h"
#include "gpu/kernel/byte_floats.h"
#include "gpu/kernel/math.h"

namespace hlo::kernel {
namespace {

// The type in which a narrow type is computed.
Type WideOf(Type type) {
  if (IsSmallFloat(type)) return Type::kF32;
  if (IsSubByte(type)) return IsSigned(type) ? Type::kS8 : Type::kU8;
  return type;
}

bool IsNarrow(Type type) { return WideOf(type) != type; }
Value Widen(Value a) { return Convert(a, WideOf(a.type())); }
Value AsByte(Value a, Type type) { return a.builder().Record(Op::kBitcast, type, {a}); }

Value Binary(Op op, Value a, Value b) {
  CHECK(a.type() == b.type(), ToString(op), " of ", ToString(a.type()), " and ", ToString(b.type()));
  if (IsNarrow(a.type())) return Convert(Binary(op, Widen(a), Widen(b)), a.type());
  return a.builder().Record(op, a.type(), {a, b});
}

Value Unary(Op op, Value a) {
  if (IsNarrow(a.type())) return Convert(Unary(op, Widen(a)), a.type());
  return a.builder().Record(op, a.type(), {a});
}

Value Compare(Op op, Value a, Value b) {
  CHECK(a.type() == b.type(), ToString(op), " of ", ToString(a.type()), " and ", ToString(b.type()));
  if (IsNarrow(a.type())) return Compare(op, Widen(a), Widen(b));
  return a.builder().Record(op, Type::kPred, {a, b});
}

Type UnsignedLike(Type type) {
  if (IsUnsigned(type)) return type;
  return static_cast<Type>(static_cast<int>(type) - static_cast<int>(Type::kS1) + static_cast<int>(Type::kU1));
}

Type SignedLike(Type type) {
  if (IsSigned(type)) return type;
  return static_cast<Type>(static_cast<int>(type) - static_cast<int>(Type::kU1) + static_cast<int>(Type::kS1));
}

bool ConstantOf(Value value, int64_t* bits) { return value.builder().IsConstant(value, bits); }

// `far` is the result for shifts by the width or more.
Value Shift(Op op, Value a, Value amount, Value far) {
  const int width = Bits(a.type());
  if (int64_t bits; ConstantOf(amount, &bits)) {
    if (bits < 0 || bits >= width) return far;
    return Binary(op, a, amount);
  }
  const Type unsigned_type = UnsignedLike(a.type());
  const Value in_range = Bitcast(amount, unsigned_type) < width;
  return Select(in_range, Binary(op, a, amount & (width - 1)), far);
}

// f64 to a small float with one rounding. The intermediate f32 is rounded towards zero with a sticky last bit, so that
// the second rounding is correct.
Value NarrowDouble(Value a, Type type) {
  const Value nearest = a.builder().Record(Op::kConvert, Type::kF32, {a});
  const Value back = Convert(nearest, Type::kF64);
  const Value bits = Bitcast(nearest, Type::kU32);
  const Value towards_zero = Select(Abs(back) > Abs(a), bits - 1, bits);
  const Value inexact = (back < a) | (back > a);
  return Convert(Bitcast(Select(inexact, towards_zero | 1, bits), Type::kF32), type);
}

// A 64-bit integer that f64 holds exactly, and that narrower floats round like `a`. From 2^53 on, drops 12 bits, and
// sets the last kept bit if a dropped bit was set.
Value RoundToOdd(Value a) {
  constexpr int64_t kDropped = (int64_t{1} << 12) - 1, kExact = int64_t{1} << 53;
  const Value last = Select((a & kDropped) == 0, ConstantLike(a, int64_t{0}), ConstantLike(a, kDropped + 1));
  const Value is_exact = IsSigned(a.type()) ? (a < kExact) & (a > -kExact) : a < kExact;
  return Select(is_exact, a, (a & ~kDropped) | last);
}

// A byte modulo 2^Bits(type).
Value Wrap(Value a, Type type) {
  const int dropped = 8 - Bits(type);
  const Value high = Binary(Op::kShiftLeft, a, ConstantLike(a, int64_t{dropped}));
  return AsByte(Binary(Op::kShiftRight, high, ConstantLike(a, int64_t{dropped})), type);
}

Value ToSubByte(Value a, Type type) {
  if (IsSmallFloat(a.type())) a = Widen(a);
  const bool saturates = IsFloat(a.type());
  a = Convert(a, WideOf(type));
  if (!saturates) return Wrap(a, type);
  const int64_t most = (int64_t{1} << (IsSigned(type) ? Bits(type) - 1 : Bits(type))) - 1;
  a = Min(a, ConstantLike(a, most));
  return AsByte(IsSigned(type) ? Max(a, ConstantLike(a, -most - 1)) : a, type);
}

template <class F>
Value InByte(Value a, Value b, F f) {
  return Convert(f(Widen(a), Widen(b)), a.type());
}

}  // namespace

Value operator+(Value a, Value b) {
  if (a.type() == Type::kIndex) {
    int64_t x = 0, y = 0;
    const bool fixed_a = ConstantOf(a, &x), fixed_b = ConstantOf(b, &y);
    if (fixed_a && fixed_b) return a.builder().Index(x + y);
    if (fixed_a && x == 0) return b;
    if (fixed_b && y == 0) return a;
  }
  return Binary(Op::kAdd, a, b);
}

Value operator-(Value a, Value b) {
  if (a.type() == Type::kIndex) {
    int64_t x = 0, y = 0;
    const bool fixed_a = ConstantOf(a, &x), fixed_b = ConstantOf(b, &y);
    if (fixed_a && fixed_b) return a.builder().Index(x - y);
    if (fixed_b && y == 0) return a;
  }
  return Binary(Op::kSub, a, b);
}

Value operator*(Value a, Value b) {
  if (a.type() == Type::kIndex) {
    int64_t x = 0, y = 0;
    const bool fixed_a = ConstantOf(a, &x), fixed_b = ConstantOf(b, &y);
    if (fixed_a && fixed_b) return a.builder().Index(x * y);
    if (fixed_a && x == 1) return b;
    if (fixed_b && y == 1) return a;
    if ((fixed_a && x == 0) || (fixed_b && y == 0)) return a.builder().Index(0);
  }
  return Binary(Op::kMul, a, b);
}

Value operator/(Value a, Value b) {
  if (IsSubByte(a.type())) return InByte(a, b, [](Value x, Value y) { return x / y; });
  int64_t divisor = 0;
  const bool fixed = ConstantOf(b, &divisor);
  if (a.type() == Type::kIndex) {
    if (int64_t dividend; fixed && ConstantOf(a, &dividend)) return a.builder().Index(dividend / divisor);
    return fixed && divisor == 1 ? a : Binary(Op::kDiv, a, b);
  }
  if (!IsInteger(a.type()) || (fixed && divisor != 0 && divisor != -1)) return Binary(Op::kDiv, a, b);
  const Value by_zero = b == 0;
  Value undefined = by_zero;
  if (IsSigned(a.type())) {
    const Value min = a.builder().Constant(a.type(), int64_t{-1} << (Bits(a.type()) - 1));
    undefined = undefined | ((b == -1) & (a == min));
  }
  const Value quotient = Binary(Op::kDiv, a, Select(undefined, ConstantLike(b, int64_t{1}), b));
  return Select(by_zero, ConstantLike(a, int64_t{-1}), quotient);
}

Value operator%(Value a, Value b) {
  if (IsSubByte(a.type())) return InByte(a, b, [](Value x, Value y) { return x % y; });
  int64_t divisor = 0;
  const bool fixed = ConstantOf(b, &divisor);
  if (a.type() == Type::kIndex) {
    if (int64_t dividend; fixed && ConstantOf(a, &dividend)) return a.builder().Index(dividend % divisor);
    return fixed && divisor == 1 ? a.builder().Index(0) : Binary(Op::kRem, a, b);
  }
  if (IsSmallFloat(a.type())) return Convert(Widen(a) % Widen(b), a.type());
  if (IsFloat(a.type())) return FloatRemainder(a, b);
  if (fixed && divisor != 0 && divisor != -1) return Binary(Op::kRem, a, b);
  const Value by_zero = b == 0;
  // a % 1 is 0, like a % -1.
  const Value undefined = IsSigned(a.type()) ? by_zero | (b == -1) : by_zero;
  const Value remainder = Binary(Op::kRem, a, Select(undefined, ConstantLike(b, int64_t{1}), b));
  return Select(by_zero, a, remainder);
}

Value operator-(Value a) { return Unary(Op::kNegate, a); }
Value operator&(Value a, Value b) { return Binary(Op::kAnd, a, b); }
Value operator|(Value a, Value b) { return Binary(Op::kOr, a, b); }
Value operator^(Value a, Value b) { return Binary(Op::kXor, a, b); }
Value operator~(Value a) { return Unary(Op::kNot, a); }

// InByte's conversion drops bits beyond the type's width.
Value ShiftLeft(Value a, Value amount) {
  CHECK(IsInteger(a.type()), "shift of ", ToString(a.type()));
  if (IsSubByte(a.type())) return InByte(a, amount, ShiftLeft);
  return Shift(Op::kShiftLeft, a, amount, ConstantLike(a, int64_t{0}));
}

Value ShiftRightArithmetic(Value a, Value amount) {
  const Value value = Bitcast(a, SignedLike(a.type()));
  if (IsSubByte(a.type())) {
    const Value by = AsByte(Bitcast(amount, UnsignedLike(a.type())), Type::kS8);
    return Bitcast(Convert(ShiftRightArithmetic(Widen(value), by), value.type()), a.type());
  }
  const Value sign = Binary(Op::kShiftRight, value, ConstantLike(value, int64_t{Bits(a.type()) - 1}));
  return Bitcast(Shift(Op::kShiftRight, value, Bitcast(amount, value.type()), sign), a.type());
}

Value ShiftRightLogical(Value a, Value amount) {
  const Value value = Bitcast(a, UnsignedLike(a.type()));
  if (IsSubByte(a.type())) return Bitcast(InByte(value, Bitcast(amount, value.type()), ShiftRightLogical), a.type());
  return Bitcast(Shift(Op::kShiftRight, value, Bitcast(amount, value.type()), ConstantLike(value, int64_t{0})),
                 a.type());
}

Value MulHigh(Value a, Value b) {
  if (!IsSubByte(a.type())) return Binary(Op::kMulHigh, a, b);
  const int64_t bits = Bits(a.type());
  return InByte(a, b, [&](Value x, Value y) { return Binary(Op::kShiftRight, x * y, ConstantLike(x, bits)); });
}
Value operator==(Value a, Value b) { return Compare(Op::kEqual, a, b); }
Value operator!=(Value a, Value b) { return Compare(Op::kNotEqual, a, b); }
Value operator<(Value a, Value b) { return Compare(Op::kLess, a, b); }
Value operator<=(Value a, Value b) { return Compare(Op::kLessEqual, a, b); }
Value operator>(Value a, Value b) { return Compare(Op::kGreater, a, b); }
Value operator>=(Value a, Value b) { return Compare(Op::kGreaterEqual, a, b); }

Value Select(Value condition, Value on_true, Value on_false) {
  CHECK(condition.type() == Type::kPred && on_true.type() == on_false.type(), "select of ", ToString(on_true.type()),
        " and ", ToString(on_false.type()));
  return on_true.builder().Record(Op::kSelect, on_true.type(), {condition, on_true, on_false});
}

Value Min(Value a, Value b) { return Binary(Op::kMin, a, b); }
Value Max(Value a, Value b) { return Binary(Op::kMax, a, b); }

Value Fma(Value a, Value b, Value c) {
  if (IsSmallFloat(a.type())) return Convert(Fma(Widen(a), Widen(b), Widen(c)), a.type());
  CHECK(IsFloat(a.type()) && a.type() == b.type() && a.type() == c.type(), "fma of ", ToString(a.type()));
  return a.builder().Record(Op::kFma, a.type(), {a, b, c});
}

Value PackPair(Value low, Value high) {
  const auto constant = [&](int64_t value) { return low.builder().Constant(Type::kS32, value); };
  return (low & constant(0xFFFF)) | ShiftLeft(high, constant(16));
}

Value DotPairs(Value a, Value b, Value c) {
  CHECK(a.type() == Type::kS32 && b.type() == Type::kS32 && c.type() == Type::kS32, "pairs of ", ToString(a.type()));
  return a.builder().Record(Op::kDotPairs, Type::kS32, {a, b, c});
}

Value Abs(Value a) { return IsUnsigned(a.type()) ? a : Unary(Op::kAbs, a); }
Value Sqrt(Value a) { return Unary(Op::kSqrt, a); }
Value Floor(Value a) { return Unary(Op::kFloor, a); }
Value Ceil(Value a) { return Unary(Op::kCeil, a); }
Value Truncate(Value a) { return Unary(Op::kTruncate, a); }
Value RoundEven(Value a) { return Unary(Op::kRoundEven, a); }
Value RoundAwayFromZero(Value a) { return Unary(Op::kRoundAway, a); }
Value CopySign(Value magnitude, Value sign) { return Binary(Op::kCopySign, magnitude, sign); }
Value CountLeadingZeros(Value a) {
  if (!IsSubByte(a.type())) return Unary(Op::kCountLeadingZeros, a);
  const Value bits = Widen(Bitcast(a, UnsignedLike(a.type())));
  return Convert(CountLeadingZeros(bits) - (8 - Bits(a.type())), a.type());
}
Value PopulationCount(Value a) {
  if (!IsSubByte(a.type())) return Unary(Op::kPopulationCount, a);
  return Convert(PopulationCount(Widen(Bitcast(a, UnsignedLike(a.type())))), a.type());
}

Value Convert(Value a, Type type) {
  const Type from = a.type();
  if (from == type) return a;
  if (int64_t bits; type == Type::kIndex && ConstantOf(a, &bits) && IsInteger(from)) return a.builder().Index(bits);
  if (type == Type::kPred) return a != 0;
  if (IsSubByte(from)) return Convert(AsByte(a, WideOf(from)), type);
  if (IsSubByte(type)) return ToSubByte(a, type);
  if (IsByteFloat(from)) return Convert(DecodeByteFloat(FormatOf(from), AsByte(a, Type::kU8)), type);
  if (from == Type::kF64 && IsSmallFloat(type)) return NarrowDouble(a, type);
  const bool to_small = IsSmallFloat(type);
  // f32 holds every value of `from`.
  const bool is_f32 = from == Type::kPred || (IsInteger(from) && Bits(from) <= 16);
  const bool via_f32 = (IsSmallFloat(from) && type != Type::kF32) || (is_f32 && to_small);
  if (via_f32) return Convert(Convert(a, Type::kF32), type);
  // f64 holds every 32-bit integer.
  if (to_small && IsInteger(from))
    return Convert(Convert(from == Type::kS64 || from == Type::kU64 ? RoundToOdd(a) : a, Type::kF64), type);
  if (IsByteFloat(type)) return AsByte(EncodeByteFloat(FormatOf(type), a), type);
  return a.builder().Record(Op::kConvert, type, {a});
}

Value Bitcast(Value a, Type type) {
  CHECK(Bits(a.type()) == Bits(type), "bitcast of ", ToString(a.type()), " to ", ToString(type));
  if (a.type() == type) return a;
  if (int64_t bits; IsInteger(a.type()) && IsInteger(type) && ConstantOf(a, &bits))
    return a.builder().Constant(type, bits);
  if (IsSubByte(type)) return Wrap(AsByte(a, WideOf(type)), type);
  // A signed sub-byte integer fills the byte's high bits with copies of the sign. The unsigned type clears them.
  if (IsSubByte(a.type())) return AsByte(Bitcast(a, UnsignedLike(a.type())), type);
  return a.builder().Record(Op::kBitcast, type, {a});
}

Value ConstantLike(Value a, int64_t literal) { return a.builder().Constant(a.type(), literal); }

Value ConstantLike(Value a, double literal) {
  CHECK(IsFloat(a.type()), "literal ", literal, " next to ", ToString(a.type()));
  return a.builder().Constant(a.type(), literal);
}

Type Array::type() const { return builder_->kernel_.arrays[id_].type; }
int64_t Array::elements() const { return builder_->kernel_.arrays[id_].elements; }

Value Array::Load(Value index) const {
  CHECK(index.type() == Type::kIndex, "index of type ", ToString(index.type()));
  CHECK(builder_->kernel_.arrays[id_].kind != ArrayKind::kOutput, "load from output '",
        builder_->kernel_.arrays[id_].name, "'");
  return builder_->Record(Op::kLoad, type(), {index}, id_);
}

void Array::Store(Value index, Value value) const {
  const ArrayKind kind = builder_->kernel_.arrays[id_].kind;
  CHECK(index.type() == Type::kIndex && value.type() == type(), "store of ", ToString(value.type()), " to ",
        ToString(type()));
  CHECK(kind != ArrayKind::kInput && kind != ArrayKind::kTable, "store to '", builder_->kernel_.arrays[id_].name, "'");
  Instruction& store = builder_->Append(Op::kStore, type(), std::array{index, value});
  store.imm = id_;
}

Value Array::Load(int64_t index) const { return Load(builder_->Index(index)); }
void Array::Store(int64_t index, Value value) const { Store(builder_->Index(index), value); }

std::vector<Value> Array::LoadVector(Value index, int width) const {
  CHECK(builder_->level() == Level::kThread && width * Bytes(type()) <= 16, "vector load of ", width);
  Instruction& load = builder_->Append(Op::kLoadVector, type(), std::array{index});
  load.imm = id_;
  load.imm2 = width;
  load.result = builder_->kernel_.values;
  std::vector<Value> values;
  for (int i = 0; i < width; ++i) values.push_back(builder_->Define(type()));
  return values;
}

void Array::StoreVector(Value index, std::span<const Value> values) const {
  CHECK(builder_->level() == Level::kThread && values.size() * Bytes(type()) <= 16, "vector store of ", values.size());
  std::vector<Value> operands = {index};
  operands.insert(operands.end(), values.begin(), values.end());
  Instruction& store = builder_->Append(Op::kStoreVector, type(), operands);
  store.imm = id_;
  store.imm2 = static_cast<int64_t>(values.size());
}

void Array::StoreAt(Value row, Value column, Value value) const {
  Store(row * builder_->kernel_.arrays[id_].pitch + column, value);
}

Value Array::LoadTransposed(Value row, Value column) const {
  const int64_t pitch = builder_->kernel_.arrays[id_].pitch;
  CHECK(pitch > 0, "'", builder_->kernel_.arrays[id_].name, "' is not a tile");
  return builder_->Record(Op::kLoadTransposed, type(), {row * pitch + column, row, column}, id_);
}

Value Array::LoadFrom(Value rank, Value index) const {
  CHECK(rank.type() == Type::kIndex && index.type() == Type::kIndex, "index of type ", ToString(index.type()));
  return builder_->Record(Op::kLoadCluster, type(), {index, rank}, id_);
}

Type ArrayGroup::type() const { return builder_->kernel_.arrays[id_].type; }
int64_t ArrayGroup::size() const { return builder_->kernel_.arrays[id_].members; }

Value ArrayGroup::Load(Value member, Value index) const {
  CHECK(member.type() == Type::kIndex && index.type() == Type::kIndex, "index of type ", ToString(index.type()));
  CHECK(builder_->kernel_.arrays[id_].kind != ArrayKind::kOutput, "load from output '",
        builder_->kernel_.arrays[id_].name, "'");
  return builder_->Record(Op::kLoadMember, type(), {index, member}, id_);
}

void ArrayGroup::Store(Value member, Value index, Value value) const {
  CHECK(member.type() == Type::kIndex && index.type() == Type::kIndex && value.type() == type(), "store of ",
        ToString(value.type()), " to ", ToString(type()));
  CHECK(builder_->kernel_.arrays[id_].kind != ArrayKind::kInput, "store to '", builder_->kernel_.arrays[id_].name, "'");
  builder_->Append(Op::kStoreMember, type(), std::array{index, value, member}).imm = id_;
}

void Array::Atomic(AtomicOp op, Value index, Value value) const {
  CHECK(builder_->level() == Level::kThread && value.type() == type(), "atomic on ", ToString(type()));
  Instruction& atomic = builder_->Append(Op::kAtomic, type(), std::array{index, value});
  atomic.imm = id_;
  atomic.imm2 = static_cast<int64_t>(op);
}

Value Array::AtomicFetch(AtomicOp op, Value index, Value value) const {
  CHECK(builder_->level() == Level::kThread && value.type() == type(), "atomic on ", ToString(type()));
  return builder_->Record(Op::kAtomicFetch, type(), {index, value}, id_, static_cast<int64_t>(op));
}

Value Array::AtomicCompareExchange(Value index, Value expected, Value desired) const {
  CHECK(builder_->level() == Level::kThread && IsInteger(type()), "compare-exchange on ", ToString(type()));
  return builder_->Record(Op::kAtomicCas, type(), {index, expected, desired}, id_);
}

Type Slot::type() const { return builder_->kernel_.slots[id_].type; }
int Slot::width() const { return builder_->kernel_.slots[id_].width; }

Value Slot::Get() const {
  const int tile_width = builder_->current().tile_width;
  CHECK(width() == (tile_width ? tile_width : 1), "slot of width ", width(), " in a tile of ", tile_width);
  return Get(tile_width ? static_cast<int>(kTileElement) : 0);
}

void Slot::Set(Value value) const {
  const int tile_width = builder_->current().tile_width;
  CHECK(width() == (tile_width ? tile_width : 1), "slot of width ", width(), " in a tile of ", tile_width);
  Set(tile_width ? static_cast<int>(kTileElement) : 0, value);
}

Value Slot::Get(int element) const {
  CHECK(builder_->level() == Level::kThread && element < width(), "slot element ", element);
  return builder_->Record(Op::kSlotGet, type(), {}, id_, element);
}

void Slot::Set(int element, Value value) const {
  CHECK(builder_->level() == Level::kThread && element < width(), "slot element ", element);
  CHECK(value.type() == type(), "slot of ", ToString(type()), " set to ", ToString(value.type()));
  Instruction& set = builder_->Append(Op::kSlotSet, type(), std::array{value});
  set.imm = id_;
  set.imm2 = element;
}

Type Variable::type() const { return builder_->kernel_.variables[id_].type; }
Value Variable::Get() const { return builder_->Record(Op::kVariableGet, type(), {}, id_); }

void Variable::Set(Value value) const {
  CHECK(value.type() == type(), "variable of ", ToString(type()), " set to ", ToString(value.type()));
  CHECK(builder_->kernel_.variables[id_].level == builder_->level(), "variable set below its level");
  builder_->Append(Op::kVariableSet, type(), std::array{value}).imm = id_;
}

}  // namespace hlo::kernel
