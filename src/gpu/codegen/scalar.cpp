#include "gpu/codegen/scalar.h"

#include <algorithm>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {

using llvm::Intrinsic::ID;

namespace {

// Repeats scalars if another operand is a vector.
llvm::SmallVector<llvm::Value*, 4> AlikeVectors(llvm::IRBuilder<>& b, std::span<llvm::Value* const> given) {
  llvm::SmallVector<llvm::Value*, 4> operands(given.begin(), given.end());
  for (llvm::Value* const like : given) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    if (!vector) continue;
    for (llvm::Value*& operand : operands) {
      if (!operand->getType()->isVectorTy()) operand = b.CreateVectorSplat(vector->getNumElements(), operand);
    }
    break;
  }
  return operands;
}

}  // namespace

llvm::AtomicRMWInst::BinOp AtomicOperation(AtomicOp op, Type type) {
  using B = llvm::AtomicRMWInst;
  switch (op) {
    case AtomicOp::kAdd: return IsFloat(type) ? B::FAdd : B::Add;
    case AtomicOp::kMin: return IsSigned(type) ? B::Min : B::UMin;
    case AtomicOp::kMax: return IsSigned(type) ? B::Max : B::UMax;
    case AtomicOp::kAnd: return B::And;
    case AtomicOp::kOr: return B::Or;
    case AtomicOp::kXor: return B::Xor;
    case AtomicOp::kExchange: return B::Xchg;
  }
  return B::Xchg;
}

llvm::Type* ScalarEmitter::TypeOf(Type type) const {
  switch (type) {
    case Type::kF16: return b_.getHalfTy();
    case Type::kF32: return b_.getFloatTy();
    case Type::kF64: return b_.getDoubleTy();
    case Type::kIndex: return place_ == Place::kHost || wide_index_ ? b_.getInt64Ty() : b_.getInt32Ty();
    case Type::kPred: return b_.getInt1Ty();
    default: return b_.getIntNTy(8 * Bytes(type));
  }
}

llvm::Type* ScalarEmitter::MemoryTypeOf(Type type) const { return type == Type::kPred ? b_.getInt8Ty() : TypeOf(type); }

llvm::Value* ScalarEmitter::ToMemory(llvm::Value* value, Type type) const {
  return type == Type::kPred ? b_.CreateZExt(value, Shaped(b_.getInt8Ty(), value)) : value;
}

llvm::Value* ScalarEmitter::FromMemory(llvm::Value* value, Type type) const {
  return type == Type::kPred ? b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())) : value;
}

llvm::Constant* ScalarEmitter::Constant(Type type, int64_t bits) const {
  llvm::Type* const llvm_type = TypeOf(type);
  if (!llvm_type->isFloatingPointTy())
    return llvm::ConstantInt::get(llvm_type, static_cast<uint64_t>(bits), /*isSigned=*/true);
  const llvm::APInt pattern(Bits(type), static_cast<uint64_t>(bits), /*isSigned=*/false);
  return llvm::ConstantFP::get(llvm_type, llvm::APFloat(llvm_type->getFltSemantics(), pattern));
}

llvm::Type* ScalarEmitter::Shaped(llvm::Type* scalar, llvm::Value* like) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector ? llvm::FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

// On hosts, rounds by integer operations: LLVM's rounding calls a function that libgcc 12 lacks, or flushes denormals.
llvm::Value* ScalarEmitter::RoundToBF16(llvm::Value* value) const {
  llvm::Type* const i16 = Shaped(b_.getInt16Ty(), value);
  if (place_ == Place::kGpu) return b_.CreateBitCast(b_.CreateFPTrunc(value, Shaped(b_.getBFloatTy(), value)), i16);
  llvm::Type* const i32 = Shaped(b_.getInt32Ty(), value);
  const auto word = [&](uint32_t bits) { return llvm::ConstantInt::get(i32, bits); };
  llvm::Value* const bits = b_.CreateBitCast(value, i32);
  llvm::Value* const high = b_.CreateLShr(bits, word(16));
  llvm::Value* const rounded =
      b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, word(0x7fff)), b_.CreateAnd(high, word(1))), word(16));
  llvm::Value* const is_nan = b_.CreateFCmpUNO(value, value);
  return b_.CreateTrunc(b_.CreateSelect(is_nan, word(0x7fff), rounded), i16);
}

// Rounds halves away from zero, as cvt.rna.tf32.f32 does.
llvm::Value* ScalarEmitter::RoundToTf32(llvm::Value* value) const {
  llvm::Type* const i32 = Shaped(b_.getInt32Ty(), value);
  const auto word = [&](uint32_t bits) { return llvm::ConstantInt::get(i32, bits); };
  llvm::Value* const above = b_.CreateAdd(b_.CreateBitCast(value, i32), word(~kTf32Bits / 2 + 1));
  llvm::Value* const is_nan = b_.CreateFCmpUNO(value, value);
  return b_.CreateBitCast(b_.CreateSelect(is_nan, word(0x7fffe000), b_.CreateAnd(above, word(kTf32Bits))),
                          value->getType());
}

// Rounds towards 0 and saturates. NaN becomes 0. On hosts, LLVM would split vectors of its own saturating conversion.
llvm::Value* ScalarEmitter::ToInteger(llvm::Value* value, Type to) const {
  llvm::Type* const target = Shaped(TypeOf(to), value);
  const bool is_signed = IsSigned(to);
  if (place_ == Place::kGpu) {
    const ID id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {target, value->getType()}, {value});
  }
  if (value->getType()->getScalarType()->isHalfTy()) value = b_.CreateFPExt(value, Shaped(b_.getFloatTy(), value));
  llvm::Type* const type = value->getType();
  const unsigned bits = target->getScalarSizeInBits();
  const llvm::APInt last = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const llvm::APInt first = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  llvm::APFloat low(type->getScalarType()->getFltSemantics()), high = low;
  low.convertFromAPInt(first, is_signed, llvm::APFloat::rmTowardZero);
  const bool ends_between = high.convertFromAPInt(last, is_signed, llvm::APFloat::rmTowardZero) != llvm::APFloat::opOK;
  llvm::Constant* const lowest = llvm::ConstantFP::get(type, low);
  llvm::Constant* const highest = llvm::ConstantFP::get(type, high);

  llvm::Value* within = b_.CreateSelect(b_.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(type), value);
  within = b_.CreateSelect(b_.CreateFCmpOGT(within, lowest), within, lowest);
  within = b_.CreateSelect(b_.CreateFCmpOLT(within, highest), within, highest);
  llvm::Type* const wide = Shaped(b_.getIntNTy(std::max(bits, 32u)), value);
  const bool through_signed = is_signed || bits < 32;
  llvm::Value* const wider = through_signed ? b_.CreateFPToSI(within, wide) : b_.CreateFPToUI(within, wide);
  llvm::Value* const result = b_.CreateTrunc(wider, target);
  if (!ends_between) return result;
  return b_.CreateSelect(b_.CreateFCmpOGT(value, highest), llvm::ConstantInt::get(target, last), result);
}

llvm::Value* ScalarEmitter::Convert(llvm::Value* value, Type from, Type to) const {
  llvm::Type* const target = Shaped(TypeOf(to), value);
  if (from == Type::kBF16) {
    CHECK(to == Type::kF32, "bf16 is converted through f32");
    llvm::Type* const i32 = Shaped(b_.getInt32Ty(), value);
    return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(value, i32), llvm::ConstantInt::get(i32, 16)), target);
  }
  if (to == Type::kBF16) {
    CHECK(from == Type::kF32, "bf16 is converted through f32");
    return RoundToBF16(value);
  }
  if (IsFloat(from) && IsFloat(to)) return b_.CreateFPCast(value, target);
  if (IsFloat(from)) return ToInteger(value, to);
  const bool is_signed = IsSigned(from);
  if (IsFloat(to)) return is_signed ? b_.CreateSIToFP(value, target) : b_.CreateUIToFP(value, target);
  return b_.CreateIntCast(value, target, is_signed);
}

llvm::Value* ScalarEmitter::MinMax(bool max, llvm::Value* a, llvm::Value* b, Type type) const {
  if (!IsFloat(type)) {
    const bool is_signed = IsSigned(type);
    const ID id = max ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                      : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    return b_.CreateBinaryIntrinsic(id, a, b);
  }
  if (type == Type::kF32 && place_ == Place::kGpu) {
    return b_.CreateBinaryIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  }
  // NaN if either operand is, with zeros ordered by sign. LLVM's expansion is longer, and NVPTX has none for f64.
  llvm::Type* const bits = a->getType()->getWithNewType(b_.getIntNTy(Bits(type)));
  llvm::Value* const bits_a = b_.CreateBitCast(a, bits);
  llvm::Value* const bits_b = b_.CreateBitCast(b, bits);
  llvm::Value* const when_equal =
      b_.CreateBitCast(max ? b_.CreateAnd(bits_a, bits_b) : b_.CreateOr(bits_a, bits_b), a->getType());
  llvm::Value* const take_a = max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
  llvm::Value* const ordered = b_.CreateSelect(take_a, a, b);
  llvm::Value* const not_nan = b_.CreateSelect(b_.CreateFCmpOEQ(a, b), when_equal, ordered);
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, not_nan);
}

// Uses the host's intrinsic, because LLVM does not recognise the general form.
llvm::Value* ScalarEmitter::DotPairs(llvm::Value* a, llvm::Value* b, llvm::Value* c) const {
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  const int lanes = vector ? static_cast<int>(vector->getNumElements()) : 1, whole = vector_bytes_ / 4;
  if (whole == 0 || lanes % whole != 0) {
    const auto low = [&](llvm::Value* x) { return b_.CreateAShr(b_.CreateShl(x, 16), 16); };
    const auto high = [&](llvm::Value* x) { return b_.CreateAShr(x, 16); };
    return b_.CreateAdd(b_.CreateAdd(c, b_.CreateMul(low(a), low(b))), b_.CreateMul(high(a), high(b)));
  }
  const auto id = whole == 16 ? llvm::Intrinsic::x86_avx512_pmaddw_d_512 : llvm::Intrinsic::x86_avx2_pmadd_wd;
  auto* const halves = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * whole);
  llvm::Value* sum = nullptr;
  for (int begin = 0; begin < lanes; begin += whole) {
    const auto part = [&](llvm::Value* x) -> llvm::Value* {
      if (lanes == whole) return x;
      return b_.CreateExtractVector(llvm::FixedVectorType::get(b_.getInt32Ty(), whole), x, b_.getInt64(begin));
    };
    llvm::Value* const products =
        b_.CreateIntrinsic(id, {}, {b_.CreateBitCast(part(a), halves), b_.CreateBitCast(part(b), halves)});
    llvm::Value* const added = b_.CreateAdd(part(c), products);
    if (lanes == whole) return added;
    sum = b_.CreateInsertVector(vector, begin == 0 ? llvm::PoisonValue::get(c->getType()) : sum, added,
                                b_.getInt64(begin));
  }
  return sum;
}

// Indices are never negative, so divisions are unsigned. On hosts they have 32 bits if possible, because vectors of
// 64-bit quotients are slow.
llvm::Value* ScalarEmitter::DivideIndex(bool quotient, llvm::Value* a, llvm::Value* b) const {
  const auto divide = [&](llvm::Value* x, llvm::Value* y) {
    return quotient ? b_.CreateUDiv(x, y) : b_.CreateURem(x, y);
  };
  if (wide_index_ || place_ == Place::kGpu) return divide(a, b);
  llvm::Type* const i32 = Shaped(b_.getInt32Ty(), a);
  return b_.CreateZExt(divide(b_.CreateTrunc(a, i32), b_.CreateTrunc(b, i32)), a->getType());
}

// A missing case is a build error with the op's name.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
llvm::Value* ScalarEmitter::Emit(const Instruction& instruction, std::span<llvm::Value* const> given,
                                 std::span<const Type> types) const {
  if (instruction.op == Op::kConstant) return Constant(instruction.type, instruction.imm);
  const llvm::SmallVector<llvm::Value*, 4> operands = AlikeVectors(b_, given);
  const Type type = types[0];
  const bool is_float = IsFloat(type);
  const bool is_index = type == Type::kIndex;
  const bool is_signed = IsSigned(type);
  llvm::Value* const x = operands[0];
  llvm::Value* const y = operands.size() > 1 ? operands[1] : nullptr;
  const auto unary = [&](ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  using P = llvm::CmpInst::Predicate;
  const auto compare = [&](P for_float, P for_signed, P for_unsigned) {
    if (is_float) return b_.CreateFCmp(for_float, x, y);
    return b_.CreateICmp(is_signed ? for_signed : for_unsigned, x, y);
  };
  switch (instruction.op) {
    case Op::kAdd: return is_float ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y, "", false, is_index);
    case Op::kSub: return is_float ? b_.CreateFSub(x, y) : b_.CreateSub(x, y, "", false, is_index);
    case Op::kMul: return is_float ? b_.CreateFMul(x, y) : b_.CreateMul(x, y, "", false, is_index);
    case Op::kDiv:
      if (is_float) return b_.CreateFDiv(x, y);
      if (is_index) return DivideIndex(true, x, y);
      return is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
    case Op::kRem:
      if (is_index) return DivideIndex(false, x, y);
      return is_signed ? b_.CreateSRem(x, y) : b_.CreateURem(x, y);
    case Op::kMin: return MinMax(false, x, y, type);
    case Op::kMax: return MinMax(true, x, y, type);
    case Op::kAnd: return b_.CreateAnd(x, y);
    case Op::kOr: return b_.CreateOr(x, y);
    case Op::kXor: return b_.CreateXor(x, y);
    case Op::kShiftLeft: return b_.CreateShl(x, y);
    case Op::kShiftRight: return is_signed ? b_.CreateAShr(x, y) : b_.CreateLShr(x, y);
    case Op::kMulHigh: {
      llvm::Type* const wide = Shaped(b_.getIntNTy(2 * Bits(type)), x);
      const auto extend = [&](llvm::Value* v) { return is_signed ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide); };
      llvm::Value* const product = b_.CreateMul(extend(x), extend(y));
      return b_.CreateTrunc(b_.CreateLShr(product, llvm::ConstantInt::get(wide, Bits(type))), x->getType());
    }
    case Op::kFma: return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, operands[2]});
    case Op::kDotPairs: return DotPairs(x, y, operands[2]);
    case Op::kNegate: return is_float ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case Op::kAbs:
      if (is_float) return unary(llvm::Intrinsic::fabs);
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
    case Op::kNot: return b_.CreateNot(x);
    case Op::kSqrt: return unary(llvm::Intrinsic::sqrt);
    case Op::kFloor: return unary(llvm::Intrinsic::floor);
    case Op::kCeil: return unary(llvm::Intrinsic::ceil);
    case Op::kTruncate: return unary(llvm::Intrinsic::trunc);
    case Op::kRoundEven: return unary(llvm::Intrinsic::roundeven);
    case Op::kRoundAway: return unary(llvm::Intrinsic::round);
    case Op::kCopySign: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    case Op::kCountLeadingZeros: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b_.getFalse());
    case Op::kPopulationCount: return unary(llvm::Intrinsic::ctpop);
    case Op::kEqual: return compare(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case Op::kNotEqual: return compare(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case Op::kLess: return compare(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case Op::kLessEqual: return compare(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case Op::kGreater: return compare(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case Op::kGreaterEqual: return compare(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
    case Op::kSelect: return b_.CreateSelect(x, y, operands[2]);
    case Op::kConvert: return Convert(x, type, instruction.type);
    case Op::kBitcast: return b_.CreateBitCast(x, Shaped(TypeOf(instruction.type), x));
    case Op::kRoundTf32: return RoundToTf32(x);
    case Op::kConstant: break;
#define HLO_SCALAR_OP(Name, ...)
#define HLO_KERNEL_OP(Name, ...) case Op::k##Name:
#include "gpu/kernel/kernel_ops.def"
      CHECK(false, "no scalar op: ", ToString(instruction.op));
  }
  return nullptr;
}
#pragma GCC diagnostic pop

}  // namespace hlo::kernel
