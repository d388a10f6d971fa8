// The planner of attention: two products of matrices and what makes rows of the second's operand of the first's result.
// A block has some lines, which share keys and values; whole rows of scores lie in shared memory, so that what stands
// between the products may be anything that a kernel of rows takes, and rounds where the text says.
#include <algorithm>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/attention_space.h"
#include "gpu/plan/contraction_space.h"
#include "gpu/plan/planner.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

constexpr int64_t kWarps = 8;
constexpr int64_t kMostTerms = 256, kMostLines = 64, kLeastLines = 16;

bool TakesTypes(const AttentionSpace& space) {
  return std::ranges::all_of(std::vector{space.scores, space.product}, [](const Instruction* dot) {
    const auto is_narrow = [](const Shape& shape) { return IsFloat(shape.type()) && BitWidth(shape.type()) <= 32; };
    return is_narrow(dot->shape()) && is_narrow(dot->operand(0).shape()) && is_narrow(dot->operand(1).shape());
  });
}

// What blocks leave idle, since there are few, may take longer than launches by themselves.
bool HasFewBlocks(const AttentionSpace& space, const KernelPlan& plan, const DeviceDescription& device) {
  constexpr double kLaunchesSaved = 3;
  constexpr double kShareOfBlock = 2;  // Of the memory's rate, next to an equal one: others are idle.
  const auto blocks = static_cast<double>(space.group_count() * CeilDiv(space.line_count(), plan.tile[0]));
  const double multiprocessors = device.multiprocessors;
  if (blocks * kShareOfBlock >= multiprocessors) return false;
  const auto bytes_of = [](const Instruction& inst) { return static_cast<double>(inst.shape().ByteSize()); };
  const double bytes = bytes_of(space.scores->operand(0)) + bytes_of(space.scores->operand(1)) +
                       bytes_of(space.product->operand(0)) + bytes_of(space.product->operand(1));
  const double alone = bytes / (device.memory_rate * blocks * kShareOfBlock / multiprocessors);
  return alone > bytes / device.memory_rate + kLaunchesSaved * device.launch_seconds;
}

}  // namespace

Result<PlanAnswer> PlanAttention(PlanRequest& request) {
  const DeviceDescription& device = request.device();
  const std::vector<const Instruction*> dots = AttentionDots(request.body());
  if (dots.empty() || !device.is_gpu) return PlanAnswer{};
  PlanAnswer answer;
  const auto no = [&](std::string_view why) {
    answer.why = why;
    return std::move(answer);
  };
  if (request.body().HasComplex()) return no("it has complex numbers");
  std::string why;
  const auto space = TRY(AttentionSpaceOf(request.body(), dots, &why));
  if (space == nullptr) return no(why);
  if (!TakesTypes(*space)) return no("products of other types than floats of at most 32 bits");
  if (space->term.size > kMostTerms || space->column.size > kMostTerms)
    return no("a query, key or value has more than 256 elements");
  const bool by_units = FitsMatrixUnits(*space);
  KernelPlan plan{.kind = KernelKind::kAttention,
                  .tile = {kMostLines, by_units ? 16 * kWarps : 64},
                  .vector = 1,
                  .threads = 32 * kWarps,
                  .algorithm = by_units ? std::string(kMatrixUnits) : ""};
  for (const Instruction* inst : request.body().instructions()) {
    const auto is_hero = [&](const RowsSpace::Hero& hero) { return hero.inst == inst; };
    if (std::ranges::count(dots, inst) || std::ranges::any_of(space->heroes, is_hero))
      plan.heroes.emplace_back(inst->name());
  }
  while (plan.vector < 4 && space->minor().size % (2 * plan.vector) == 0) plan.vector *= 2;
  const auto blocks = [&] { return space->group_count() * CeilDiv(space->line_count(), plan.tile[0]); };
  const int64_t most_bytes = device.shared_memory_bytes.value_or(0);
  // Two blocks are to be on a multiprocessor, and each to have one.
  while (plan.tile[0] > kLeastLines && (TilesOf(*space, plan).Bytes() > most_bytes / 2 ||
                                        blocks() < device.multiprocessors || plan.tile[0] >= 2 * space->line_count()))
    plan.tile[0] /= 2;
  if (TilesOf(*space, plan).Bytes() > most_bytes) plan.tile[1] /= 2;
  if (TilesOf(*space, plan).Bytes() > most_bytes)
    return no(Str("rows of ", space->minor().size, " keys do not fit on chip"));
  if (HasFewBlocks(*space, plan, device)) return no("its few blocks would leave most multiprocessors idle");
  answer.candidates = {{std::move(plan)}};
  return answer;
}

}  // namespace hlo::gpu
