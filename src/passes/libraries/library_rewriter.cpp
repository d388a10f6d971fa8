// cublas-gemm-rewriter and gpu-conv-rewriter: a dot or convolution of floats becomes a library call with its epilogue,
// that is a kCustom fusion whose computation says exactly what is computed:
//
//   product   the dot or convolution of two operands of the fusion
//   steps     each elementwise on the value before, which nobody else uses:
//               add, subtract (value first), multiply   with a scalar constant, a broadcast operand (bias, scale) or,
//               once,
//                                                       an operand of the full shape (residual)
//               maximum                                 with 0 (relu)
//
// The order and the operations stay those of the module, so the rewrite is exact; a library that keeps the value in a
// wider type between the steps says so in its precision plan.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/outline.h"
#include "passes/libraries/library_call.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hlo {
namespace {
namespace m = match;

// Libraries take this many steps after a product; what is longer is a kernel's business.
constexpr int kMostSteps = 8;

bool IsLibraryType(PrimitiveType type) {
  return type == PrimitiveType::kF16 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF32 ||
         type == PrimitiveType::kF64;
}

struct Epilogue {
  std::vector<Instruction*> members;  // In order, the broadcasts that the steps use included.
  Instruction* last;                  // The value of the whole.
};

// `other` as the second operand of a step: what of it belongs into the fusion, or false.
bool TakesOperand(Instruction& other, const Shape& shape, std::vector<Instruction*>* members, bool* residual) {
  if (other.Is(Opcode::kBroadcast)) {
    // A vector along dimensions, or a scalar. Larger ones are residuals that only look small.
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

void MakeLibraryCall(Instruction& product, std::string_view library) {
  Epilogue epilogue = FindEpilogue(product);
  std::vector<Instruction*> members = {&product};
  members.insert(members.end(), epilogue.members.begin(), epilogue.members.end());
  Instruction* const roots[] = {epilogue.last};
  Instruction& fusion = Outline(product.computation(), members, roots, FusionKind::kCustom, library);
  SetConfigValue(fusion, "library", library);
}

bool TakesTypes(const Instruction& product) {
  if (product.operand_count() != 2 || product.shape().NumElements() == 0) return false;
  const PrimitiveType type = product.operand(0).shape().type();
  return IsLibraryType(type) && type == product.operand(1).shape().type() && IsLibraryType(product.shape().type());
}

Result<bool> Rewrite(Module& module, const PassContext& context, Opcode opcode, std::string_view library) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      // What an epilogue has taken is dead.
      if (!inst->Is(opcode) || inst->IsDead() || !TakesTypes(*inst) || !context.ConsumeFuel()) continue;
      MakeLibraryCall(*inst, library);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

const Instruction* ProductOf(const Instruction& call) {
  const Instruction* product = nullptr;
  for (const Instruction* inst : FusedComputation(call).instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    if (product != nullptr) return nullptr;
    product = inst;
  }
  return product;
}

Result<bool> RewriteGemms(Module& module, const PassContext& context) {
  return Rewrite(module, context, Opcode::kDot, "gemm");
}

Result<bool> RewriteConvolutions(Module& module, const PassContext& context) {
  return Rewrite(module, context, Opcode::kConvolution, "convolution");
}

}  // namespace hlo
