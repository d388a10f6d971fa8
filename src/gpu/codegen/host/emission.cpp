#include "gpu/codegen/host/emission.h"

#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "gpu/codegen/host/vectors.h"
#include "gpu/codegen/host_lowering.h"
#include "gpu/codegen/streaming.h"

namespace hlo::kernel {

using llvm::BasicBlock;
using LlvmValue = llvm::Value*;

HostEmission::HostEmission(const Kernel& kernel, bool masked_tails, llvm::Module& module)
    : kernel_(kernel),
      facts_(kernel),
      masked_tails_(masked_tails),
      context_(module.getContext()),
      module_(module),
      b_(context_),
      scalar_(b_, Place::kHost, kernel.wide_index, static_cast<int>(VectorBytes())),
      values_(kernel.values),
      wide_variables_(kernel.variables.size()),
      kept_of_blocks_(kernel.values) {}

void HostEmission::Lower(const std::string& name) {
  parameters_ = kernel_.Parameters();
  const bool direct = TakesArgumentsOneByOne(kernel_);
  MakeBody(direct ? name : name + ".blocks",
           direct ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
  if (!direct) MakeEntry(name);
}

// Loads the pointers and calls the body, because `noalias` has more effect on parameters than on loaded pointers.
void HostEmission::MakeEntry(const std::string& name) {
  llvm::Type* const types[] = {b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()};
  auto* const entry = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                             llvm::GlobalValue::ExternalLinkage, name, module_);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  b_.SetInsertPoint(BasicBlock::Create(context_, "entry", entry));
  llvm::SmallVector<LlvmValue> arguments = {entry->getArg(0), entry->getArg(1)};
  const std::vector<KernelArgument> given = kernel_.Arguments();
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].member > 0) continue;
    LlvmValue const place = b_.CreateConstGEP1_64(b_.getPtrTy(), entry->getArg(2), i);
    const bool is_group = kernel_.arrays[given[i].array].members > 0;
    arguments.push_back(is_group ? place : b_.CreateLoad(b_.getPtrTy(), place));
  }
  b_.CreateCall(function_, arguments)->setIsNoInline();
  b_.CreateRetVoid();
}

void HostEmission::MakeBody(const std::string& name, llvm::GlobalValue::LinkageTypes linkage) {
  llvm::SmallVector<llvm::Type*> types(2, b_.getInt64Ty());
  types.append(parameters_.size(), b_.getPtrTy());
  function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false), linkage, name, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const ArrayInfo& array = kernel_.arrays[parameters_[i]];
    if (!array.may_alias) function_->addParamAttr(2 + i, llvm::Attribute::NoAlias);
    if (array.kind == ArrayKind::kInput || array.members > 0) function_->addParamAttr(2 + i, llvm::Attribute::ReadOnly);
    if (IsStreamed(array)) MarkStreamed(*function_, 2 + i);
  }
  BasicBlock* const entry = BasicBlock::Create(context_, "entry", function_);
  BasicBlock* const body = BasicBlock::Create(context_, "body", function_);
  b_.SetInsertPoint(entry);
  allocas_ = b_.CreateBr(body);
  b_.SetInsertPoint(allocas_);
  MakeStorage();
  of_all_blocks_ = {.arrays = arrays_, .transposed = transposed_, .slots = slots_, .variables = variables_};
  b_.SetInsertPoint(body);
  Loop(function_->getArg(0), function_->getArg(1), Index(kernel_.cluster), {.unroll = false}, [&](LlvmValue block) {
    block_ = first_block_ = block;
    if (kernel_.cluster > 1) EmitCluster(kernel_.body);
    else EmitRegion(kernel_.body);
  });
  b_.CreateRetVoid();
}

void HostEmission::MakeStorage() {
  int parameter = 2;
  for (const ArrayInfo& array : kernel_.arrays) {
    auto* const type = llvm::ArrayType::get(scalar_.MemoryTypeOf(array.type), array.elements);
    if (array.IsParameter()) {
      arrays_.push_back(function_->getArg(parameter++));
    } else if (array.kind == ArrayKind::kTable) {
      std::vector<llvm::Constant*> elements;
      for (const int64_t bits : array.table) {
        elements.push_back(array.type == Type::kPred ? b_.getInt8(bits) : scalar_.Constant(array.type, bits));
      }
      arrays_.push_back(new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                                 llvm::ConstantArray::get(type, elements)));
    } else {
      arrays_.push_back(Storage(type));
    }
    transposed_.push_back(array.pitch ? Storage(TransposedType(array)) : nullptr);
  }
  for (int64_t slot = 0; slot < std::ssize(kernel_.slots); ++slot) slots_.push_back(Storage(SlotType(slot)));
  for (const VariableInfo& variable : kernel_.variables) variables_.push_back(Storage(scalar_.TypeOf(variable.type)));
}

llvm::AllocaInst* HostEmission::Alloca(llvm::Type* type) {
  llvm::AllocaInst* const alloca = b_.CreateAlloca(type);
  if (type->isArrayTy()) alloca->setAlignment(llvm::Align(64));
  return alloca;
}

llvm::AllocaInst* HostEmission::AllocaAtEntry(llvm::Type* type) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(allocas_);
  return Alloca(type);
}

llvm::Value* HostEmission::Get(int32_t id) {
  const int group = strip_ ? strip_->plan->group_of[id] : 0;
  if (group != 0 && group != strip_->current) return FromOtherGroup(id);
  CHECK(values_[id], "kernel '", kernel_.name, "': %", id, " has no value yet");
  return values_[id];
}

void HostEmission::EmitRegion(const Region& region) {
  const std::span<const Instruction> body = region.body;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].op == Op::kTile) i += EmitTiles(body.subspan(i)) - 1;
    else Emit(body[i]);
  }
}

void HostEmission::Emit(const Instruction& instruction) {
  using Emitter = void (HostEmission::*)(const Instruction&);
  static constexpr Emitter kEmitters[] = {
#define HLO_SCALAR_OP(Name, ...) &HostEmission::EmitScalar,
#define HLO_KERNEL_OP(Name, ...) &HostEmission::Emit##Name,
#include "gpu/kernel/kernel_ops.def"
  };
  (this->*kEmitters[static_cast<int>(instruction.op)])(instruction);
}

void HostEmission::EmitScalar(const Instruction& instruction) { Set(instruction.result, Compute(instruction)); }
void HostEmission::EmitBlock(const Instruction& instruction) { Set(instruction.result, block_); }
void HostEmission::EmitWarp(const Instruction& instruction) { Set(instruction.result, warp_); }
void HostEmission::EmitLane(const Instruction& instruction) { Set(instruction.result, lane_); }
void HostEmission::EmitThread(const Instruction& instruction) { Set(instruction.result, thread_); }

// Barriers need no code, because the loops over threads end between phases.
void HostEmission::EmitBarrier(const Instruction&) {}
void HostEmission::EmitClusterBarrier(const Instruction&) {}
void HostEmission::EmitWarpBarrier(const Instruction&) {}

llvm::Value* HostEmission::Compute(const Instruction& instruction) {
  if (LlvmValue const value = InSegment(instruction)) return value;
  llvm::SmallVector<LlvmValue, 4> operands;
  llvm::SmallVector<Type, 4> types;
  const bool wide = wide_ && wide_->stride[instruction.result] == kOwnValue;
  for (const int32_t operand : instruction.operands) {
    operands.push_back(wide && wide_->stride[operand] != 0 ? Wide(operand) : Get(operand));
    types.push_back(facts_.types[operand]);
  }
  return scalar_.Emit(instruction, operands, types);
}

}  // namespace hlo::kernel
