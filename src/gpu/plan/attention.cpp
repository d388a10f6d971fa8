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

double BytesOf(const Instruction& inst) { return static_cast<double>(inst.shape().ByteSize()); }

double Busy(int64_t blocks, const DeviceDescription& device) {
  return std::min(1.0, static_cast<double>(blocks) / device.multiprocessors);
}

// Seconds that a library takes for `dot`. `inner` counts the terms of the first product or the columns of the second.
double SecondsOf(const AttentionSpace& space, const Instruction& dot, int64_t inner, const DeviceDescription& device) {
  const double rate = device.dot_rates[BitWidth(dot.operand(0).shape().type()) <= 16 ? 1 : 2];
  return 2 * static_cast<double>(space.scores->shape().NumElements() * inner) / rate;
}

// The kernel's share of a library's rate. With matrix units, filling a panel of keys dominates
// (bench/results/gpu.md). With threads, filling takes about as long as the arithmetic of kLinesOfFilling
// lines (an estimate).
double ShareOf(const KernelPlan& plan) {
  constexpr double kByUnits = 0.1, kByThreads = 0.3, kLinesOfFilling = 6;
  const auto lines = static_cast<double>(plan.tile[0]);
  return plan.algorithm.empty() ? kByThreads * lines / (lines + kLinesOfFilling) : kByUnits * lines / kMostLines;
}

// Whether the plan is slower than two library calls with a kernel of rows between them.
bool IsSlower(const AttentionSpace& space, const KernelPlan& plan, const DeviceDescription& device) {
  constexpr double kLaunchesSaved = 2;
  // If other multiprocessors are idle, a block gets up to this multiple of an equal share of the memory's rate.
  constexpr double kShareOfBlock = 2;
  constexpr int64_t kLibraryTile = 64;
  const auto library_busy = [&](int64_t columns) {
    return Busy(space.group_count() * CeilDiv(space.line_count(), kLibraryTile) * CeilDiv(columns, kLibraryTile),
                device);
  };
  const double first = SecondsOf(space, *space.scores, space.term.size, device);
  const double second = SecondsOf(space, *space.product, space.column.size, device);
  const int64_t share = space.share_operand;
  const double between = BytesOf(*space.scores) + BytesOf(space.product->operand(share));
  const double outside = BytesOf(space.scores->operand(0)) + BytesOf(space.scores->operand(1)) +
                         BytesOf(space.product->operand(1 - share)) + BytesOf(*space.product);
  const double busy = Busy(space.group_count() * CeilDiv(space.line_count(), plan.tile[0]), device);
  const double apart = std::max(first / library_busy(space.minor().size) + second / library_busy(space.column.size),
                                (outside + between) / device.memory_rate) +
                       between / device.memory_rate + kLaunchesSaved * device.launch_seconds;
  const double own = std::max((first + second) / (ShareOf(plan) * busy),
                              outside / (device.memory_rate * std::min(1.0, busy * kShareOfBlock)));
  return own > apart;
}

Result<PlanAnswer> Plan(PlanRequest& request, std::unique_ptr<AttentionSpace>* of_candidate) {
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
  auto space = TRY(AttentionSpaceOf(request.body(), dots, &why));
  if (space == nullptr) return no(why);
  if (!TakesTypes(*space)) return no("its products have other types than floats of at most 32 bits");
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
  while (plan.tile[0] > kLeastLines && (TilesOf(*space, plan).Bytes() > most_bytes / 2 ||
                                        blocks() < device.multiprocessors || plan.tile[0] >= 2 * space->line_count()))
    plan.tile[0] /= 2;
  if (TilesOf(*space, plan).Bytes() > most_bytes) plan.tile[1] /= 2;
  if (TilesOf(*space, plan).Bytes() > most_bytes)
    return no(Str("rows of ", space->minor().size, " keys do not fit on chip"));
  answer.candidates = {{std::move(plan)}};
  *of_candidate = std::move(space);
  return answer;
}

}  // namespace

Result<PlanAnswer> PlanAttention(PlanRequest& request) {
  std::unique_ptr<AttentionSpace> space;
  return Plan(request, &space);
}

Result<PlanAnswer> PlanAttentionOfRegion(PlanRequest& request) {
  std::unique_ptr<AttentionSpace> space;
  PlanAnswer answer = TRY(Plan(request, &space));
  if (space == nullptr || !IsSlower(*space, answer.candidates[0][0], request.device())) return answer;
  return PlanAnswer{.why = "two library calls with a kernel between them are faster"};
}

}  // namespace hlo::gpu
