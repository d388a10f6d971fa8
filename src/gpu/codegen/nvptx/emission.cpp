#include "gpu/codegen/nvptx/emission.h"

#include <limits>
#include <string>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include "base/check.h"
#include "gpu/codegen/nvptx_lowering.h"
#include "ir/device_limits.h"

namespace hlo::kernel {

using BasicBlock = llvm::BasicBlock;
using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

namespace {

constexpr int kGlobalSpace = 1, kSharedSpace = 3, kConstantSpace = 4;

}  // namespace

NvptxEmission::NvptxEmission(const Kernel& kernel, const NvptxOptions& options, llvm::LLVMContext& context)
    : kernel_(kernel),
      options_(options),
      context_(context),
      module_(std::make_unique<llvm::Module>(EntryName(kernel), context)),
      b_(context),
      scalar_(b_, Place::kGpu, kernel.wide_index),
      linear_(LinearForms(kernel)),
      types_(kernel.values),
      values_(kernel.values),
      variables_(kernel.variables.size()) {}

std::unique_ptr<llvm::Module> NvptxEmission::Lower() {
  MakeFunction();
  MakeArrays();
  BasicBlock* const entry = BasicBlock::Create(context_, "entry", function_);
  BasicBlock* const body = BasicBlock::Create(context_, "body", function_);
  b_.SetInsertPoint(entry);
  for (const SlotInfo& slot : kernel_.slots) {
    slots_.push_back(b_.CreateAlloca(llvm::ArrayType::get(scalar_.TypeOf(slot.type), slot.width)));
  }
  thread_ = ReadIndex(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, kernel_.threads);
  block_ = ReadIndex(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, BlocksInCode(kernel_));
  warp_ = b_.CreateLShr(thread_, 5);
  lane_ = b_.CreateAnd(thread_, 31);
  allocas_ = b_.CreateBr(body);
  b_.SetInsertPoint(body);
  if (WaitsInCode(options_)) {
    for (const char* const code : {kWaitCode, kLetGoCode}) EmitCode(code);
  }
  EmitRegion(kernel_.body);
  b_.CreateRetVoid();
  return std::move(module_);
}

// Emits PTX code. LLVM moves no memory access across it.
void NvptxEmission::EmitCode(const char* code) {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), false);
  b_.CreateCall(llvm::InlineAsm::get(type, code, "~{memory}", /*hasSideEffects=*/true));
}

void NvptxEmission::MakeFunction() {
  std::vector<llvm::Type*> types;
  const std::vector<int> parameters = kernel_.Parameters();
  // A group's pointers are passed by value in the parameter space, where any of them can be loaded.
  for (const int array : parameters)
    types.push_back(llvm::PointerType::get(context_, kernel_.arrays[array].members > 0 ? 0 : kGlobalSpace));
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, EntryName(kernel_), *module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ArrayInfo& array = kernel_.arrays[parameters[i]];
    llvm::AttrBuilder attributes(context_);
    if (array.members > 0) {
      attributes.addByValAttr(
          llvm::ArrayType::get(llvm::PointerType::get(context_, kGlobalSpace), static_cast<uint64_t>(array.members)));
      attributes.addAlignmentAttr(llvm::Align(sizeof(void*)));
      function_->addParamAttrs(i, attributes);
      function_->getArg(i)->setName("p" + std::to_string(i));
      continue;
    }
    // Threads communicate through kInOut arrays. `noalias` would let LLVM keep their elements in registers across
    // barriers.
    if (!array.may_alias && array.kind != ArrayKind::kInOut) attributes.addAttribute(llvm::Attribute::NoAlias);
    if (array.kind == ArrayKind::kInput) attributes.addAttribute(llvm::Attribute::ReadOnly);
    attributes.addAlignmentAttr(llvm::Align(array.alignment));
    function_->addParamAttrs(i, attributes);
    function_->getArg(i)->setName("p" + std::to_string(i));
  }
  Annotate("kernel", 1);
  Annotate("maxntidx", kernel_.threads);
  if (kernel_.min_blocks_per_sm > 0) Annotate("minctasm", kernel_.min_blocks_per_sm);
}

void NvptxEmission::Annotate(const char* key, int value) {
  llvm::Metadata* const operands[] = {llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(context_, key),
                                      llvm::ConstantAsMetadata::get(b_.getInt32(value))};
  module_->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context_, operands));
}

void NvptxEmission::MakeArrays() {
  const bool dynamic = kernel_.SharedBytes() > kStaticSharedBytes;
  llvm::GlobalVariable* pool = nullptr;
  if (dynamic) {
    pool = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                    llvm::GlobalValue::ExternalLinkage, nullptr, "dynamic_shared", nullptr,
                                    llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    pool->setAlignment(llvm::Align(16));
  }
  int parameter = 0;
  int64_t offset = 0;
  for (size_t i = 0; i < kernel_.arrays.size(); ++i) {
    const ArrayInfo& array = kernel_.arrays[i];
    llvm::Type* const element = scalar_.MemoryTypeOf(array.type);
    auto* const type = llvm::ArrayType::get(element, array.elements);
    if (array.IsParameter()) {
      arrays_.push_back(function_->getArg(parameter++));
    } else if (array.kind == ArrayKind::kTable) {
      std::vector<llvm::Constant*> elements;
      for (const int64_t bits : array.table) {
        elements.push_back(array.type == Type::kPred ? b_.getInt8(bits) : scalar_.Constant(array.type, bits));
      }
      auto* const table = new llvm::GlobalVariable(*module_, type, true, llvm::GlobalValue::InternalLinkage,
                                                   llvm::ConstantArray::get(type, elements),
                                                   "table" + std::to_string(i) + "_" + EntryName(kernel_), nullptr,
                                                   llvm::GlobalValue::NotThreadLocal, kConstantSpace);
      table->setAlignment(llvm::Align(16));
      arrays_.push_back(table);
    } else if (dynamic) {
      offset = (offset + 15) / 16 * 16;
      arrays_.push_back(llvm::ConstantExpr::getGetElementPtr(b_.getInt8Ty(), pool, b_.getInt64(offset)));
      offset += array.elements * Bytes(array.type);
    } else {
      auto* const shared = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage,
                                                    llvm::UndefValue::get(type), "shared" + std::to_string(i), nullptr,
                                                    llvm::GlobalValue::NotThreadLocal, kSharedSpace);
      shared->setAlignment(llvm::Align(16));
      arrays_.push_back(shared);
    }
  }
}

LlvmValue NvptxEmission::ReadIndex(Intr id, int64_t limit) {
  llvm::CallInst* const read = b_.CreateIntrinsic(b_.getInt32Ty(), id, {});
  read->setMetadata(llvm::LLVMContext::MD_range, llvm::MDBuilder(context_).createRange(
                                                     llvm::APInt(32, 0), llvm::APInt(32, std::max<int64_t>(1, limit))));
  return b_.CreateZExt(read, scalar_.TypeOf(Type::kIndex));
}

LlvmValue NvptxEmission::Get(int32_t id, int copy) const {
  const auto& values = values_[id];
  CHECK(!values.empty(), "kernel '", kernel_.name, "': %", id, " has no value yet");
  return values.size() == 1 ? values[0] : values[copy];
}

void NvptxEmission::Set(int32_t id, int copy, LlvmValue value) {
  auto& values = values_[id];
  if (static_cast<int>(values.size()) != copies_.width) values.assign(copies_.width, nullptr);
  values[copy] = value;
}

// Emits the value of each copy, or once if all copies agree on it.
void NvptxEmission::Define(const Instruction& instruction, const std::function<LlvmValue(int copy)>& make) {
  const int32_t id = instruction.result;
  types_[id] = instruction.type;
  if (linear_[id].stride == 0) return SetUniform(id, make(copies_.begin));
  for (int copy = copies_.begin; copy < copies_.end; ++copy) Set(id, copy, make(copy));
}

void NvptxEmission::EmitRegion(const Region& region) {
  for (const Instruction& instruction : region.body) Emit(instruction);
}

void NvptxEmission::Emit(const Instruction& instruction) {
  using Emitter = void (NvptxEmission::*)(const Instruction&);
  static constexpr Emitter kEmitters[] = {
#define HLO_SCALAR_OP(Name, ...) &NvptxEmission::EmitScalar,
#define HLO_KERNEL_OP(Name, ...) &NvptxEmission::Emit##Name,
#include "gpu/kernel/kernel_ops.def"
  };
  source_ = instruction.source;
  (this->*kEmitters[static_cast<int>(instruction.op)])(instruction);
}

void NvptxEmission::EmitScalar(const Instruction& instruction) {
  Define(instruction, [&](int copy) {
    llvm::SmallVector<LlvmValue, 4> operands;
    llvm::SmallVector<Type, 4> types;
    for (const int32_t operand : instruction.operands) {
      operands.push_back(Get(operand, copy));
      types.push_back(types_[operand]);
    }
    return scalar_.Emit(instruction, operands, types);
  });
}

void NvptxEmission::EmitBlock(const Instruction& instruction) {
  Define(instruction, [&](int) { return block_; });
}
void NvptxEmission::EmitWarp(const Instruction& instruction) {
  Define(instruction, [&](int) { return warp_; });
}
void NvptxEmission::EmitLane(const Instruction& instruction) {
  Define(instruction, [&](int) { return lane_; });
}
void NvptxEmission::EmitThread(const Instruction& instruction) {
  Define(instruction, [&](int) { return thread_; });
}

void NvptxEmission::EmitClusterRank(const Instruction& instruction) {
  Define(instruction,
         [&](int) { return ReadIndex(llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank, kernel_.cluster); });
}

bool NvptxEmission::Plant(KernelFault fault) {
  if (options_.fault != fault || planted_) return false;
  planted_ = true;
  return true;
}

}  // namespace hlo::kernel
