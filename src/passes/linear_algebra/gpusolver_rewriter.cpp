// Replaces a Cholesky decomposition by cuSOLVER's call. The other triangle, which the call does not change, becomes
// zero, and a matrix without a factor becomes NaN.
#include <limits>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// XLA queries the library for the size.
constexpr int64_t kWorkspaceBytes = 256;

bool IsOfLapack(PrimitiveType type) {
  return type == PrimitiveType::kF32 || type == PrimitiveType::kF64 || IsComplex(type);
}

// For a pivot of 0 the library reports no factor, whereas the op continues with NaN.
Result<Instruction*> CallCholesky(Instruction& inst, const PassContext& context) {
  const Shape& shape = inst.shape();
  if (!context.device->is_gpu || !IsOfLapack(shape.type()) || shape.HasDynamicDims() || !shape.HasDefaultLayout() ||
      inst.operand(0).shape() != shape || shape.NumElements() == 0)
    return nullptr;
  const bool lower = inst.attrs<CholeskyAttrs>().lower;
  const int64_t rank = shape.rank();
  const Dims batch(shape.dims().begin(), shape.dims().end() - 2);
  const Shape info_shape(PrimitiveType::kS32, batch);
  const Shape results = Shape::Tuple({shape, Shape(PrimitiveType::kU8, {kWorkspaceBytes}), info_shape});
  CustomCallAttrs attrs;
  attrs.target = "__cusolver$cholesky";
  Instruction& call = *Step(inst, Opcode::kCustomCall, results, {&inst.operand(0)}, attrs);
  call.mutable_common().backend_config.text = std::string(lower ? "{\"lower\":true}" : "{\"lower\":false}");
  Instruction& factor = inst.computation().AddGetTupleElement(call, 0);
  Instruction& info = inst.computation().AddGetTupleElement(call, 2);

  const auto constant = [&](const Shape& like, double value) {
    Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(like.type(), value));
    return like.IsScalar() ? &scalar : Step(inst, Opcode::kBroadcast, like, {&scalar}, DimensionsAttrs{});
  };
  const Shape index_shape = shape.WithType(PrimitiveType::kS32), truth = shape.WithType(PrimitiveType::kPred);
  Instruction* const row = Step(inst, Opcode::kIota, index_shape, {}, IotaAttrs{rank - 2});
  Instruction* const column = Step(inst, Opcode::kIota, index_shape, {}, IotaAttrs{rank - 1});
  Instruction* const inside = Step(inst, Opcode::kCompare, truth, {row, column},
                                   CompareAttrs{lower ? ComparisonDirection::kGe : ComparisonDirection::kLe});
  Instruction* const triangle = Step(inst, Opcode::kSelect, shape, {inside, &factor, constant(shape, 0)});
  Instruction* const done = Step(inst, Opcode::kCompare, info_shape.WithType(PrimitiveType::kPred),
                                 {&info, constant(info_shape, 0)}, CompareAttrs{ComparisonDirection::kEq});
  DimensionsAttrs leading;
  for (int64_t d = 0; d < rank - 2; ++d) leading.dimensions.push_back(d);
  Instruction* const done_each = Step(inst, Opcode::kBroadcast, truth, {done}, leading);
  Instruction* const nan = constant(shape, std::numeric_limits<double>::quiet_NaN());
  return Replace(inst, Opcode::kSelect, {done_each, triangle, nan});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"L.chol.1", Opcode::kCholesky, CallCholesky, Preserves::kReassociates, "cholesky(a) => the factor that cuSOLVER computes, NaN where it finds none"},
};
// clang-format on

}  // namespace

std::span<const Rule> GpusolverRules() { return kRules; }

Result<bool> RewriteForGpusolver(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
