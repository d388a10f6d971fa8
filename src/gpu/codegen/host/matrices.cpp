// Matrices of a warp. On the host, a slot contains its matrix row by row.
#include "gpu/codegen/host/emission.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {

using LlvmValue = llvm::Value*;

llvm::Value* HostEmission::InFragment(FragmentKind kind, int64_t element) {
  const FragmentLayout layout = LayoutOf(kind);
  const int columns = Columns(kind);
  const auto at = [&](MatrixPosition position) { return Index(position.row * columns + position.column); };
  LlvmValue const group = b_.CreateMul(b_.CreateLShr(lane_, 2), at(layout.group), "", true, true);
  LlvmValue const member = b_.CreateMul(b_.CreateAnd(lane_, 3), at(layout.member), "", true, true);
  LlvmValue const offset = at(ElementOffset(kind, static_cast<int>(element)));
  return b_.CreateAdd(b_.CreateAdd(group, member, "", true, true), offset, "", true, true);
}

void HostEmission::EmitLoadFragment(const Instruction& load) {
  const int32_t slot = load.slots[0];
  const FragmentKind kind = *kernel_.slots[slot].fragment;
  const bool rounds = kind.shape == MmaShape::kTF32 && kind.role != FragmentRole::kSum;
  LlvmValue const first = Get(load.operands[0]);
  LlvmValue const pitch = Get(load.operands[1]);
  LlvmValue const base = WarpBase(slot);
  Loop(Index(0), Index(Rows(kind)), Index(1), {.unroll = false}, [&](LlvmValue row) {
    Lanes(Index(Columns(kind)), [&](LlvmValue column) {
      LlvmValue const line = load.imm2 ? column : row;
      LlvmValue const place = load.imm2 ? row : column;
      LlvmValue const index = b_.CreateNSWAdd(first, b_.CreateNSWAdd(b_.CreateNSWMul(line, pitch), place));
      LlvmValue element = LoadElement(load.imm, index);
      if (rounds) {
        const Instruction round{.op = Op::kRoundTf32, .type = Type::kF32};
        const LlvmValue operands[] = {element};
        element = scalar_.Emit(round, operands, {{Type::kF32}});
      }
      LlvmValue const to = b_.CreateNSWAdd(b_.CreateNSWMul(row, Index(Columns(kind))), column);
      StoreTo(b_.CreateInBoundsGEP(SlotElement(slot), base, to), load.type, element, true);
    });
  });
}

llvm::Value* HostEmission::Factor(LlvmValue bits, MmaShape shape) {
  const MmaInfo& info = InfoOf(shape);
  if (shape == MmaShape::kTF32) {
    llvm::Type* const word = bits->getType()->getWithNewType(b_.getInt32Ty());
    return b_.CreateBitCast(b_.CreateAnd(b_.CreateBitCast(bits, word), llvm::ConstantInt::get(word, kTf32Bits)),
                            bits->getType());
  }
  const Instruction convert{.op = Op::kConvert, .type = info.accumulator};
  const LlvmValue operands[] = {bits};
  const Type types[] = {info.operand};
  return scalar_.Emit(convert, operands, types);
}

// Terms are added in the order of mma.h.
void HostEmission::EmitMma(const Instruction& mma) {
  const auto shape = static_cast<MmaShape>(mma.imm);
  const MmaInfo& info = InfoOf(shape);
  LlvmValue const sums = WarpBase(mma.slots[0]);
  LlvmValue const left = WarpBase(mma.slots[1]);
  LlvmValue const right = WarpBase(mma.slots[2]);
  llvm::Type *const operand = SlotElement(mma.slots[1]), *const accumulator = SlotElement(mma.slots[0]);
  const auto row_of = [&](llvm::Type* element, LlvmValue base, LlvmValue row) {
    return b_.CreateInBoundsGEP(element, base, b_.CreateNSWMul(row, Index(kMmaColumns)));
  };
  const Type types[] = {info.accumulator, info.accumulator, info.accumulator};
  Loop(Index(0), Index(kMmaRows), Index(1), {.unroll = false}, [&](LlvmValue row) {
    LlvmValue const place = row_of(accumulator, sums, row);
    LlvmValue sum = b_.CreateAlignedLoad(llvm::FixedVectorType::get(accumulator, kMmaColumns), place, llvm::Align(4));
    for (int term = 0; term < info.terms; ++term) {
      LlvmValue const at = b_.CreateNSWAdd(b_.CreateNSWMul(row, Index(info.terms)), Index(term));
      LlvmValue const one = Factor(LoadFrom(b_.CreateInBoundsGEP(operand, left, at), info.operand, false), shape);
      LlvmValue const line =
          b_.CreateAlignedLoad(llvm::FixedVectorType::get(operand, kMmaColumns), row_of(operand, right, Index(term)),
                               llvm::Align(Bytes(info.operand)));
      LlvmValue const terms[] = {Factor(line, shape), one, sum};
      if (IsFloat(info.accumulator)) {
        sum = scalar_.Emit({.op = Op::kFma, .type = info.accumulator}, terms, types);
        continue;
      }
      LlvmValue const addends[] = {
          scalar_.Emit({.op = Op::kMul, .type = info.accumulator}, std::span(terms).first(2), types), sum};
      sum = scalar_.Emit({.op = Op::kAdd, .type = info.accumulator}, addends, types);
    }
    b_.CreateAlignedStore(sum, place, llvm::Align(4));
  });
}

}  // namespace hlo::kernel
