// real_imag_expander: removes real and imag of real numbers.
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

Result<Instruction*> PartOfReal(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  if (IsComplex(x.shape().type()) || x.shape() != inst.shape()) return nullptr;
  if (inst.Is(Opcode::kReal)) return &x;
  return inst.shape().HasDynamicDims() ? nullptr : ConstantLike(inst, 0);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"S.real.1", Opcode::kReal, PartOfReal, Preserves::kExact, "real(x) => x, of a real x"},
    {"S.imag.1", Opcode::kImag, PartOfReal, Preserves::kExact, "imag(x) => 0, of a real x"},
};
// clang-format on

}  // namespace

std::span<const Rule> RealImagRules() { return kRules; }

Result<bool> ExpandRealImag(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
