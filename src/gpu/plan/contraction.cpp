// The planner of dots and convolutions that no library takes.
#include "base/text.h"
#include "gpu/plan/contraction_space.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

// Fewer are folded by one thread: the loop emitter's.
constexpr int64_t kFewTerms = 16;

int64_t TermsOf(const Instruction& product) {
  const Shape &lhs = product.operand(0).shape(), &rhs = product.operand(1).shape();
  int64_t terms = 1;
  if (product.Is(Opcode::kDot)) {
    for (const int64_t d : product.attrs<DotAttrs>().lhs_contracting) terms *= lhs.dim(d);
    return terms;
  }
  const auto& attrs = product.attrs<ConvolutionAttrs>();
  for (const WindowDim& window : attrs.window.dims) terms *= window.size;
  return terms * rhs.dim(attrs.dim_labels.rhs_input_feature);
}

}  // namespace

Result<PlanAnswer> PlanContraction(PlanRequest& request) {
  // A block's warps, the columns of its tile (two for each lane), and the terms in shared memory at a time.
  constexpr int64_t kWarps = 8, kColumns = 64, kPanel = 32;
  const FusionBody& body = request.body();
  std::vector<const Instruction*> heroes;
  bool many_terms = false;
  for (const Instruction* inst : body.instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    heroes.push_back(inst);
    many_terms = many_terms || TermsOf(*inst) > kFewTerms;
  }
  PlanAnswer answer;
  if (!many_terms) return answer;
  constexpr std::string_view kSlow = "one thread for each element of a product: ";
  const Instruction* const hero = heroes[0];
  if (heroes.size() > 1) answer.why = Str(kSlow, "the fusion holds ", heroes.size());
  if (heroes.size() > 1 || hero->operand_count() != 2) return answer;
  const PrimitiveType type = hero->shape().type();
  TRY(KernelType(*hero, type));
  const bool groups = hero->Is(Opcode::kConvolution) && hero->attrs<ConvolutionAttrs>().batch_group_count != 1;
  if (type == PrimitiveType::kPred || IsComplex(type)) answer.why = Str(kSlow, "no tiles of ", type);
  else if (groups) answer.why = Str(kSlow, "no tiles of a convolution with batch groups");
  else if (hero->Is(Opcode::kConvolution) && !IsFloat(type)) answer.why = Str(kSlow, "no tiles of ", type);
  if (!answer.why.empty()) return answer;

  std::string why_not;
  const auto space = TRY(ContractionSpaceOf(body, *hero, &why_not));
  if (!why_not.empty()) answer.why = Str(kSlow, why_not);
  if (space == nullptr) return answer;
  KernelPlan plan{.kind = KernelKind::kContraction};
  if (body.source().Is(Opcode::kFusion)) plan.heroes.emplace_back(hero->name());
  // Rows of a warp: fewer where there are few rows.
  const int64_t rows = space->row().size;
  const int64_t warp_rows = rows <= kWarps ? 1 : rows <= 2 * kWarps ? 2 : rows <= 4 * kWarps ? 4 : 8;
  plan.tile = {warp_rows * kWarps, kColumns, kPanel};
  plan.vector = kColumns / 32;
  plan.threads = kWarps * 32;
  answer.candidates = {{std::move(plan)}};
  return answer;
}

}  // namespace hlo::gpu
