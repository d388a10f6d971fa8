// LLVM IR for NVPTX: the code of one thread of a kernel.
#ifndef HLO_GPU_CODEGEN_NVPTX_EMISSION_H_
#define HLO_GPU_CODEGEN_NVPTX_EMISSION_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "gpu/codegen/nvptx.h"
#include "gpu/codegen/scalar.h"
#include "gpu/kernel/kernel.h"
#include "gpu/kernel/linear.h"

namespace hlo::kernel {

class NvptxEmission {
 public:
  NvptxEmission(const Kernel& kernel, const NvptxOptions& options, llvm::LLVMContext& context);
  std::unique_ptr<llvm::Module> Lower();

 private:
  class AtThreadLevel;
  using BasicBlock = llvm::BasicBlock;
  using Intr = llvm::Intrinsic::ID;
  using LlvmValue = llvm::Value*;
  // The copies of a tile's body that are being emitted: one for each element in [begin, end) of a thread's `width`
  // elements. `wide`: whether these are all.
  struct Copies {
    int begin = 0, end = 1;
    int width = 1;
    bool wide = true;
  };
  void EmitCode(const char* code);
  void MakeFunction();
  void Annotate(const char* key, int value);
  void MakeArrays();
  LlvmValue ReadIndex(Intr id, int64_t limit);

  LlvmValue Index(int64_t value) { return scalar_.Index(value); }
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(context_, name, function_); }
  void If(LlvmValue condition, const std::function<void()>& then, const std::function<void()>& otherwise = nullptr);
  void Loop(LlvmValue begin, LlvmValue end, LlvmValue step, int64_t unroll, const std::function<void(LlvmValue)>& body);
  LlvmValue Get(int32_t id, int copy) const;
  void Set(int32_t id, int copy, LlvmValue value);

  void SetUniform(int32_t id, LlvmValue value) { values_[id].assign(1, value); }
  void Define(const Instruction& instruction, const std::function<LlvmValue(int copy)>& make);
  void EmitRegion(const Region& region);
  void Emit(const Instruction& instruction);
  void EmitScalar(const Instruction& instruction);
#define HLO_SCALAR_OP(Name, ...)
#define HLO_KERNEL_OP(Name, ...) void Emit##Name(const Instruction& instruction);
#include "gpu/kernel/kernel_ops.def"

  static bool UsesSlots(const Region& region);
  void ForCopies(std::span<const int32_t> steering, const std::function<void()>& emit);
  bool Plant(KernelFault fault);
  LlvmValue Address(int64_t array, LlvmValue index);

  template <class Access>
  Access* Mark(Access* access, int64_t array) {
    const ArrayInfo& info = kernel_.arrays[array];
    if (llvm::isa<llvm::LoadInst>(access) && info.kind == ArrayKind::kInput && !info.may_alias) {
      access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    }
    if (source_ >= 0) {
      access->setMetadata("hlo.source",
                          llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(source_))));
    }
    return access;
  }
  void AtMember(int64_t array, int32_t member, const std::function<void()>& access);
  LlvmValue LoadScalar(int64_t array, LlvmValue index);
  void StoreScalar(int64_t array, LlvmValue index, LlvmValue value);
  int VectorWidth(int64_t array, int32_t index) const;
  llvm::Type* PackedType(Type type, int width) const;
  llvm::SmallVector<LlvmValue, 16> LoadPacked(int64_t array, LlvmValue index, int width);
  static LlvmValue RoundedFrom(LlvmValue element);
  void StorePacked(int64_t array, LlvmValue index, std::span<LlvmValue const> elements);
  LlvmValue SlotElement(int64_t slot, int64_t element, int copy);
  LlvmValue LoadSlot(int32_t slot);
  void StoreSlot(int32_t slot, LlvmValue value) { b_.CreateStore(value, SlotElement(slot, 0, 0)); }
  LlvmValue VariableElement(int64_t variable, int copy);

  // matrices.cpp
  LlvmValue LoadWord(int32_t slot, int word);
  void StoreElement(int32_t slot, int element, LlvmValue value);
  void StoreWord(int32_t slot, int word, LlvmValue packed);
  void LoadMatrices(const Instruction& load, bool crosses);
  void LoadElements(const Instruction& load, bool contiguous);

  // ---- Collectives ----

  LlvmValue ToI32(LlvmValue value) { return b_.CreateIntCast(value, b_.getInt32Ty(), false); }
  LlvmValue Shuffle(Intr id, LlvmValue value, LlvmValue amount);

  using Values = llvm::SmallVector<LlvmValue, 2>;
  Values LoadSlots(const Instruction& instruction);
  Values Combine(const Instruction& instruction, const Values& a, const Values& b);
  Values ShuffleAll(Intr id, const Values& values, LlvmValue amount);
  void EmitReduce(const Instruction& reduce);

  const Kernel& kernel_;
  const NvptxOptions& options_;
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  const std::vector<Linear> linear_;
  llvm::Function* function_ = nullptr;
  llvm::Instruction* allocas_ = nullptr;  // Allocas are inserted before it.
  std::vector<LlvmValue> arrays_, slots_;
  std::vector<Type> types_;
  std::vector<llvm::SmallVector<LlvmValue, 1>> values_;
  std::vector<llvm::AllocaInst*> variables_;
  LlvmValue thread_ = nullptr, block_ = nullptr, warp_ = nullptr, lane_ = nullptr;
  Copies copies_;
  Level level_ = Level::kBlock;
  bool in_warps_ = false;
  bool planted_ = false;
  int32_t source_ = -1;
};

// The most blocks with which the code may be launched: the kernel's own number if LLVM could use it, otherwise the
// largest possible number.
int64_t BlocksInCode(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_NVPTX_EMISSION_H_
