// Matrices of a warp: mma.sync, and loads of its fragments.
#include "gpu/codegen/nvptx/emission.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "gpu/kernel/mma.h"

namespace hlo::kernel {

using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

namespace {

constexpr Intr kProducts[] = {
    llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16,
    llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32, llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8};

// The size of each matrix that ldmatrix loads.
constexpr int kMatrixRows = 8, kMatrixRowBytes = 16;

}  // namespace

// Packs elements into a word, the first element in the low bits.
LlvmValue NvptxEmission::LoadWord(int32_t slot, int word) {
  const FragmentKind kind = *kernel_.slots[slot].fragment;
  const int elements = PerWord(kind), bits = 32 / elements;
  LlvmValue packed = nullptr;
  for (int i = 0; i < elements; ++i) {
    LlvmValue const element =
        b_.CreateLoad(scalar_.TypeOf(kernel_.slots[slot].type), SlotElement(slot, word * elements + i, 0));
    LlvmValue const placed =
        b_.CreateShl(b_.CreateZExt(b_.CreateBitCast(element, b_.getIntNTy(bits)), b_.getInt32Ty()), i * bits);
    packed = packed ? b_.CreateOr(packed, placed) : placed;
  }
  return packed;
}

void NvptxEmission::StoreElement(int32_t slot, int element, LlvmValue value) {
  const FragmentKind kind = *kernel_.slots[slot].fragment;
  const Type type = kernel_.slots[slot].type;
  if (kind.shape == MmaShape::kTF32 && kind.role != FragmentRole::kSum) {
    const LlvmValue operands[] = {value};
    value = scalar_.Emit({.op = Op::kRoundTf32, .type = type}, operands, {{type}});
  }
  b_.CreateStore(value, SlotElement(slot, element, 0));
}

void NvptxEmission::StoreWord(int32_t slot, int word, LlvmValue packed) {
  const Type type = kernel_.slots[slot].type;
  const int elements = PerWord(*kernel_.slots[slot].fragment), bits = 32 / elements;
  for (int i = 0; i < elements; ++i) {
    LlvmValue const element = b_.CreateTrunc(b_.CreateLShr(packed, i * bits), b_.getIntNTy(bits));
    StoreElement(slot, word * elements + i, b_.CreateBitCast(element, scalar_.TypeOf(type)));
  }
}

void NvptxEmission::EmitLoadFragment(const Instruction& load) {
  const bool shared = kernel_.arrays[load.imm].kind == ArrayKind::kShared;
  const FragmentKind kind = *kernel_.slots[load.slots[0]].fragment;
  const int64_t bytes = Bytes(load.type);
  const auto whole_rows = [&](int32_t value) { return linear_[value].multiple * bytes % kMatrixRowBytes == 0; };
  // A word's elements are adjacent in a row of the left matrix, or in a column of the right one.
  const bool crosses = (load.imm2 != 0) == (kind.role == FragmentRole::kLeft);
  const bool as_matrices = shared && kind.role != FragmentRole::kSum && (!crosses || bytes == 2) &&
                           whole_rows(load.operands[0]) && whole_rows(load.operands[1]);
  if (as_matrices) return LoadMatrices(load, crosses);
  LoadElements(load, /*contiguous=*/!crosses);
}

// Each lane gives the address of a matrix row, and receives a word of each matrix.
void NvptxEmission::LoadMatrices(const Instruction& load, bool crosses) {
  const FragmentKind kind = *kernel_.slots[load.slots[0]].fragment;
  const FragmentLayout layout = LayoutOf(kind);
  const int matrices = LaneElements(kind) / PerWord(kind);
  LlvmValue lane = b_.CreateAnd(lane_, Index(kMatrixRows * matrices - 1));
  if (Plant(KernelFault::kWrongFragmentLane)) lane = b_.CreateXor(lane, Index(1));
  LlvmValue const row = b_.CreateAnd(lane, Index(kMatrixRows - 1));
  LlvmValue const low = b_.CreateAnd(b_.CreateLShr(lane, 3), Index(1));
  LlvmValue const high = b_.CreateLShr(lane, 4);
  const auto along = [&](int MatrixPosition::* axis, bool is_line) {
    LlvmValue const corner =
        b_.CreateAdd(b_.CreateMul(low, Index(layout.low.*axis)), b_.CreateMul(high, Index(layout.high.*axis)));
    return is_line ? b_.CreateAdd(corner, row) : corner;
  };
  const bool column_major = load.imm2 != 0;
  LlvmValue const line = along(column_major ? &MatrixPosition::column : &MatrixPosition::row, true);
  LlvmValue const place = along(column_major ? &MatrixPosition::row : &MatrixPosition::column, false);
  LlvmValue const index =
      b_.CreateAdd(Get(load.operands[0], 0), b_.CreateAdd(b_.CreateMul(line, Get(load.operands[1], 0)), place));
  constexpr Intr kLoads[2][2] = {{llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16,
                                  llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16},
                                 {llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16,
                                  llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16}};
  LlvmValue const address = Address(load.imm, index);
  LlvmValue const words =
      Mark(b_.CreateIntrinsic(kLoads[crosses][matrices == 4], {address->getType()}, {address}), load.imm);
  for (int word = 0; word < matrices; ++word) StoreWord(load.slots[0], word, b_.CreateExtractValue(words, word));
}

// If `contiguous`, a word's elements are adjacent in memory.
void NvptxEmission::LoadElements(const Instruction& load, bool contiguous) {
  const int32_t slot = load.slots[0];
  const FragmentKind kind = *kernel_.slots[slot].fragment;
  const FragmentLayout layout = LayoutOf(kind);
  LlvmValue const pitch = Get(load.operands[1], 0);
  const auto index_of = [&](LlvmValue row, LlvmValue column) {
    if (load.imm2 != 0) std::swap(row, column);
    return b_.CreateAdd(b_.CreateMul(row, pitch), column);
  };
  LlvmValue lane = lane_;
  if (Plant(KernelFault::kWrongFragmentLane)) lane = b_.CreateXor(lane, Index(1));
  const auto of_lane = [&](int MatrixPosition::* axis) {
    return b_.CreateAdd(b_.CreateMul(b_.CreateLShr(lane, 2), Index(layout.group.*axis)),
                        b_.CreateMul(b_.CreateAnd(lane, 3), Index(layout.member.*axis)));
  };
  LlvmValue const own =
      b_.CreateAdd(Get(load.operands[0], 0), index_of(of_lane(&MatrixPosition::row), of_lane(&MatrixPosition::column)));
  const int per_word = PerWord(kind);
  const auto whole_words = [&](int32_t value) { return linear_[value].multiple % per_word == 0; };
  const bool packed = contiguous && per_word > 1 && whole_words(load.operands[0]) && whole_words(load.operands[1]);
  const int width = packed ? per_word : 1;
  for (int element = 0; element < LaneElements(kind); element += width) {
    const MatrixPosition offset = ElementOffset(kind, element);
    LlvmValue const index = b_.CreateAdd(own, index_of(Index(offset.row), Index(offset.column)));
    if (width == 1) {
      StoreElement(slot, element, LoadScalar(load.imm, index));
      continue;
    }
    const auto elements = LoadPacked(load.imm, index, width);
    for (int i = 0; i < width; ++i) StoreElement(slot, element + i, elements[i]);
  }
}

void NvptxEmission::EmitMma(const Instruction& mma) {
  const auto shape = static_cast<MmaShape>(mma.imm);
  llvm::SmallVector<LlvmValue, 10> operands;
  for (const int32_t slot : {mma.slots[1], mma.slots[2]}) {
    const FragmentKind kind = *kernel_.slots[slot].fragment;
    for (int word = 0; word < LaneElements(kind) / PerWord(kind); ++word) {
      LlvmValue const bits = LoadWord(slot, word);
      const bool halves = shape == MmaShape::kF16;
      operands.push_back(halves ? b_.CreateBitCast(bits, llvm::FixedVectorType::get(b_.getHalfTy(), 2)) : bits);
    }
  }
  const int32_t sum = mma.slots[0];
  llvm::Type* const accumulator = scalar_.TypeOf(kernel_.slots[sum].type);
  for (int i = 0; i < kernel_.slots[sum].width; ++i)
    operands.push_back(b_.CreateLoad(accumulator, SlotElement(sum, i, 0)));
  LlvmValue const result = b_.CreateIntrinsic(kProducts[mma.imm], {}, operands);
  for (int i = 0; i < kernel_.slots[sum].width; ++i)
    b_.CreateStore(b_.CreateExtractValue(result, i), SlotElement(sum, i, 0));
}

}  // namespace hlo::kernel
