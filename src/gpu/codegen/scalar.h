// LLVM IR for scalar ops (kernel_ops.def), the same in both lowerings.
#ifndef HLO_GPU_CODEGEN_SCALAR_H_
#define HLO_GPU_CODEGEN_SCALAR_H_

#include <span>

#include <llvm/IR/IRBuilder.h>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

enum class Place : uint8_t { kGpu, kHost };

llvm::AtomicRMWInst::BinOp AtomicOperation(AtomicOp op, Type type);

class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilder<>& builder, Place place, bool wide_index, int vector_bytes = 0)
      : b_(builder), place_(place), wide_index_(wide_index), vector_bytes_(vector_bytes) {}

  // kPred is i1, kBF16 is i16 (its bits), other types of at most 8 bits are i8.
  llvm::Type* TypeOf(Type type) const;
  // As TypeOf, but kPred is i8.
  llvm::Type* MemoryTypeOf(Type type) const;
  llvm::Value* ToMemory(llvm::Value* value, Type type) const;
  llvm::Value* FromMemory(llvm::Value* value, Type type) const;

  llvm::Constant* Constant(Type type, int64_t bits) const;
  llvm::Constant* Index(int64_t value) const { return Constant(Type::kIndex, value); }

  // Operands may be LLVM vectors of one length and scalars.
  llvm::Value* Emit(const Instruction& instruction, std::span<llvm::Value* const> operands,
                    std::span<const Type> types) const;

 private:
  llvm::Value* Convert(llvm::Value* value, Type from, Type to) const;
  llvm::Value* ToInteger(llvm::Value* value, Type to) const;
  llvm::Value* RoundToBF16(llvm::Value* value) const;
  llvm::Value* RoundToTf32(llvm::Value* value) const;
  llvm::Value* MinMax(bool max, llvm::Value* a, llvm::Value* b, Type type) const;
  llvm::Value* DotPairs(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  llvm::Value* DivideIndex(bool quotient, llvm::Value* a, llvm::Value* b) const;
  static llvm::Type* Shaped(llvm::Type* scalar, llvm::Value* like);

  llvm::IRBuilder<>& b_;
  Place place_;
  bool wide_index_;
  int vector_bytes_;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_SCALAR_H_
