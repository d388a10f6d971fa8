// cublas-gemm-rewriter, gpu-conv-rewriter and cudnn-fused-convolution-rewriter: make library calls. The last pass adds
// epilogues to convolutions. Dots get theirs at once. A call is a kCustom fusion, which states the exact operations:
//
//   product   the dot or convolution of two operands of the fusion
//   steps     elementwise instructions, each applied to the previous value, which has no other user:
//               add, subtract (value first), multiply  with a scalar constant, a broadcast operand (bias, scale) or,
//                                                      once, an operand of the full shape (residual)
//               maximum                                with 0 (relu)
//
// If a library keeps the value in a wider type between steps, the plan's precision says so.
#include <algorithm>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/fusion/outline.h"
#include "passes/log_why.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hlo {
namespace {
namespace m = match;

// Limit of steps after a product.
constexpr int kMostSteps = 8;

bool IsLibraryType(PrimitiveType type) {
  return type == PrimitiveType::kF16 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF32 ||
         type == PrimitiveType::kF64;
}

struct Epilogue {
  std::vector<Instruction*> members;  // In program order, including broadcasts.
  Instruction* last;
};

// Whether a step may also read `other`. Adds a broadcast to `members`.
bool TakesOperand(Instruction& other, const Shape& shape, std::vector<Instruction*>* members, bool* residual) {
  if (other.Is(Opcode::kBroadcast)) {
    // A broadcast of a matrix would be stored as a full residual.
    if (other.operand(0).shape().rank() > 1 || !std::is_sorted(other.dimensions().begin(), other.dimensions().end()))
      return false;
    members->push_back(&other);
    return true;
  }
  if (!SameDims(other.shape(), shape) || other.Is(Opcode::kIota) || std::exchange(*residual, true)) return false;
  return true;
}

Epilogue FindEpilogue(Instruction& product) {
  Epilogue epilogue{{}, &product};
  bool residual = false;
  for (int step = 0; step < kMostSteps; ++step) {
    Instruction& value = *epilogue.last;
    if (value.IsRoot() || value.UseCount() != 1) break;
    Instruction& user = *value.users().front();
    if (user.shape().type() != value.shape().type() || user.operand_count() != 2 ||
        !user.control_predecessors().empty())
      break;
    const bool left = &user.operand(0) == &value;
    Instruction& other = user.operand(left ? 1 : 0);
    std::vector<Instruction*> members;
    if (user.Is(Opcode::kMaximum)) {
      if (!other.IsConstantOf(0)) break;
      if (other.Is(Opcode::kBroadcast)) members.push_back(&other);
    } else if (user.Is(Opcode::kAdd) || user.Is(Opcode::kMultiply) || (user.Is(Opcode::kSubtract) && left)) {
      if (!TakesOperand(other, value.shape(), &members, &residual)) break;
    } else {
      break;
    }
    members.push_back(&user);
    for (Instruction* member : members) {
      if (std::find(epilogue.members.begin(), epilogue.members.end(), member) == epilogue.members.end())
        epilogue.members.push_back(member);
    }
    epilogue.last = &user;
  }
  return epilogue;
}

// `value` is a product or a call of a product.
void MakeLibraryCall(Instruction& value, const Epilogue& epilogue, std::string_view library) {
  std::vector<Instruction*> members = {&value};
  members.insert(members.end(), epilogue.members.begin(), epilogue.members.end());
  Instruction* const roots[] = {epilogue.last};
  Instruction& fusion = Outline(value.computation(), members, roots, FusionKind::kCustom, library);
  if (epilogue.last->metadata() != Metadata()) fusion.mutable_common().metadata = epilogue.last->metadata();
  SetConfigValue(fusion, "library", library);
  if (!LOGS_WHY()) return;
  const size_t steps = epilogue.members.size();
  LogWhy(library, fusion,
         Str("is a library call with ", steps, steps == 1 ? " more instruction" : " more instructions"),
         steps == 0 ? "no instruction after the product is one that libraries can compute with it"
                    : "libraries can compute them together with the product");
}

std::string_view WhyNotTaken(const Instruction& product) {
  if (product.operand_count() != 2) return "it has more than two operands";
  if (product.shape().NumElements() == 0) return "its result is empty";
  const PrimitiveType type = product.operand(0).shape().type();
  if (!IsLibraryType(type) || !IsLibraryType(product.shape().type()))
    return "libraries support only f16, bf16, f32 and f64";
  return type == product.operand(1).shape().type() ? "" : "its operands have different types";
}

using EpilogueOf = Epilogue (*)(Instruction& product);

Result<bool> Rewrite(Module& module, const PassContext& context, Opcode opcode, std::string_view library,
                     EpilogueOf epilogue_of) {
  const bool logs = LOGS_WHY();
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (!inst->Is(opcode) || inst->IsDead()) continue;
      if (const std::string_view why_not = WhyNotTaken(*inst); !why_not.empty()) {
        if (logs) LogWhy(library, *inst, "stays", why_not);
        continue;
      }
      if (!context.ConsumeFuel()) continue;
      MakeLibraryCall(*inst, epilogue_of(*inst), library);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> RewriteGemms(Module& module, const PassContext& context) {
  return Rewrite(module, context, Opcode::kDot, "gemm", FindEpilogue);
}

Result<bool> RewriteConvolutions(Module& module, const PassContext& context) {
  const auto none = [](Instruction& product) { return Epilogue{{}, &product}; };
  return Rewrite(module, context, Opcode::kConvolution, "convolution", none);
}

Result<bool> FuseConvolutions(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (LibraryOf(*inst) != "convolution" || inst->IsDead() || HasPlan(*inst)) continue;
      if (!FusedComputation(*inst).root().Is(Opcode::kConvolution)) continue;  // The call has an epilogue.
      const Epilogue epilogue = FindEpilogue(*inst);
      if (epilogue.members.empty() || !context.ConsumeFuel()) continue;
      MakeLibraryCall(*inst, epilogue, "convolution");
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
