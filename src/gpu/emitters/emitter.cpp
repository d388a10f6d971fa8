#include "gpu/emitters/emitter.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "gpu/kernel/depth.h"
#include "ir/device_description.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

// A host thread holds a block's shared memory, which should stay in the core's cache.
constexpr int64_t kMostSharedBytesOfHost = 4 << 20;

Result<EmittedKernel> EmitKernel(const EmitRequest& request) {
  switch (request.plan.kind) {
#define OTHER_KIND(Name, text, fields, what) \
  case KernelKind::k##Name: FAIL(PlanError(request.body.source(), Str(text, " is not a kernel of hlokit")));
#define KERNEL_KIND(Name, text, fields, what) \
  case KernelKind::k##Name: return Emit##Name(request);
#include "ir/kernel_kinds.def"
  }
  __builtin_unreachable();
}

// Exactly one kernel must write each result that has elements. A scatter updates its operand in place, or a copy made
// by an earlier kernel. Without updates, this copy is the result.
Status CheckRoots(const FusionBody& body, const FusionPlan& plan) {
  const auto require = [&](bool holds, const std::string& what) -> Status {
    if (holds) return {};
    FAIL(PlanError(body.source(), what));
  };
  std::vector<int64_t> written(body.roots().size());
  int64_t copies = 0;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelPlan& kernel = plan.kernels[i];
    if (kernel.kind == KernelKind::kScan && kernel.splits > 1 && !kernel.totals) {
      KernelPlan before = kernel;
      before.totals = true;
      TRY(require(i > 0 && plan.kernels[i - 1] == before,
                  "a scan with several blocks must follow the kernel of its totals"));
    }
    if (kernel.kind == KernelKind::kScatter || kernel.operand)
      TRY(require(!written.empty() && body.roots()[0].inst->Is(Opcode::kScatter), "its root is not a scatter"));
    if (kernel.kind == KernelKind::kScatter)
      TRY(require(copies == (kernel.in_place ? 0 : 1),
                  "a scatter must follow one copy of its operand, or be in place"));
    copies += kernel.operand;
    if (kernel.operand) {
      const Instruction& root = *body.roots()[0].inst;
      written[0] += root.Is(Opcode::kScatter) && root.operand(root.operand_count() - 1).shape().NumElements() == 0;
    }
    // All kernels of a sort or fft except the last write scratch memory.
    const bool has_steps = kernel.kind == KernelKind::kSort || kernel.kind == KernelKind::kFft;
    const bool is_step = has_steps && &kernel != &plan.kernels.back();
    if (kernel.operand || kernel.totals || is_step) continue;
    for (size_t root = 0; root < written.size(); ++root)
      written[root] += kernel.roots.empty() ? 1 : std::ranges::count(kernel.roots, static_cast<int64_t>(root));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    if (body.roots()[i].shape->NumElements() == 0) continue;
    TRY(require(written[i] == 1, Str("result ", i, " of ", written.size(), " is written by ",
                                     written[i] == 0 ? "no kernel" : Str(written[i], " kernels"))));
  }
  return {};
}

}  // namespace

Status EmitRequest::Require(bool holds, std::string_view what) const {
  if (holds) return {};
  FAIL(PlanError(body.source(), Str(plan.kind, ": ", what)));
}

Status EmitRequest::RequireBlock(size_t tile_rank) const {
  TRY(Require(plan.threads >= 32 && plan.threads % 32 == 0,
              Str("a block of ", plan.threads, " threads is not a number of whole warps of 32")));
  TRY(Require(plan.tile.size() == tile_rank, Str("its tile must have ", tile_rank, " sizes, not ", plan.tile.size())));
  return Require(std::has_single_bit(static_cast<uint64_t>(plan.vector)),
                 Str("vector must be a power of 2, not ", plan.vector));
}

Result<std::vector<const Instruction*>> EmitRequest::Heroes() const {
  std::vector<const Instruction*> heroes;
  if (plan.heroes.empty() && !body.source().Is(Opcode::kFusion)) return std::vector{&body.source()};
  TRY(Require(!plan.heroes.empty(), "it names no heroes"));
  for (const std::string& name : plan.heroes) {
    const auto found = std::ranges::find(body.instructions(), name, &Instruction::name);
    if (found != body.instructions().end()) {
      heroes.push_back(*found);
      continue;
    }
    std::vector<std::string_view> names;
    for (const Instruction* inst : body.instructions()) names.push_back(inst->name());
    const std::vector<std::string> near = NearNames(name, names);
    FAIL(PlanError(body.source(), Str("no instruction of the fusion is called '", Escaped(name), "'",
                                      near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?"))));
  }
  return heroes;
}

Result<std::vector<EmittedKernel>> EmitFusion(const Instruction& inst, const FusionPlan& plan) {
  const FusionBody body(inst);
  TRY(CheckRoots(body, plan));
  const DeviceDescription* const device = FindDevice(plan.target);
  const int64_t most_shared = device == nullptr || device->is_gpu ? kMostSharedBytes : kMostSharedBytesOfHost;
  std::vector<EmittedKernel> kernels;
  int64_t number = 0;
  for (const KernelPlan& kernel : plan.kernels) {
    const int64_t own = kernel.operand ? 0 : number++;
    const EmitRequest request = {body, kernel,
                                 kernel.operand ? "_operand"
                                 : own > 0      ? Str("_", own)
                                                : "",
                                 &kernel - plan.kernels.data(), std::ssize(plan.kernels)};
    kernels.push_back(TRY(EmitKernel(request)));
    const int64_t shared = kernels.back().kernel->SharedBytes();
    TRY(request.Require(shared <= most_shared,
                        Str("it takes ", shared, " bytes of shared memory, but a block has only ", most_shared)));
    const int64_t depth = kernel::Depth(*kernels.back().kernel);
    if (depth <= kernel::kMostDepth) continue;
    FAIL(UnsupportedAt(inst, "U111",
                       Str("no kernel for '", inst.name(), "': its operations depend on each other ", depth,
                           " levels deep, and the limit is ", kernel::kMostDepth)));
  }
  return kernels;
}

}  // namespace hlo::gpu
