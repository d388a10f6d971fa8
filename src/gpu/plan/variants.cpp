#include "gpu/plan/variants.h"

#include <algorithm>

#include "gpu/kernel/builder.h"
#include "gpu/plan/contraction_space.h"

namespace hlo::gpu {
namespace {

// `plan` with other threads and vectors. The tile keeps its form: one row, a row for each warp, or rows that share the
// block.
KernelPlan Shaped(KernelPlan plan, int64_t threads, int64_t vector) {
  const int64_t warps = plan.threads / 32;
  const bool by_warp = plan.tile.size() > 1 && plan.tile[0] > 1 && plan.tile[0] == warps;
  if (plan.tile.size() == 1) plan.tile = {threads * vector};
  else if (by_warp) plan.tile = {threads / 32, 32 * vector};
  else plan.tile[1] = threads * vector / plan.tile[0];
  plan.threads = threads;
  plan.vector = vector;
  return plan;
}

KernelPlan ByWarp(KernelPlan plan, int64_t warps, int64_t vector) {
  plan.threads = 32 * warps;
  plan.vector = vector;
  plan.tile = {warps, 32 * vector};
  return plan;
}

KernelPlan ByBlock(KernelPlan plan, int64_t threads, int64_t vector) {
  plan.threads = threads;
  plan.vector = vector;
  plan.tile = {1, threads * vector};
  return plan;
}

KernelPlan With(KernelPlan plan, int64_t KernelPlan::* number, int64_t value) {
  plan.*number = value;
  return plan;
}

std::vector<KernelPlan> Loops(const KernelPlan& plan) {
  const int64_t t = plan.threads, v = plan.vector;
  KernelPlan flat = plan;
  flat.threads = 256;
  flat.tile = {256 * v};
  std::vector<KernelPlan> others = {Shaped(plan, t, 2 * v), Shaped(plan, t, v / 2), Shaped(plan, 2 * t, v),
                                    Shaped(plan, t / 2, v), Shaped(plan, 1024, v),  Shaped(plan, 64, v)};
  if (plan.tile.size() > 1) others.insert(others.begin() + 2, flat);
  return others;
}

std::vector<KernelPlan> Rows(const KernelPlan& plan, const DeviceDescription& device) {
  const int64_t t = plan.threads, v = plan.vector, u = plan.unroll;
  const KernelPlan plain = With(With(plan, &KernelPlan::unroll, 1), &KernelPlan::splits, 1);
  std::vector<KernelPlan> others = {
      With(plan, &KernelPlan::unroll, u == 1 ? 4 : u / 2),
      With(plan, &KernelPlan::unroll, 2 * u),
      ByWarp(plain, 8, v),
      ByBlock(plain, 64, v),
      ByBlock(plain, 32, 4),
      ByBlock(plain, 64, std::max<int64_t>(1, v / 2)),
      Shaped(plan, 2 * t, v),
      Shaped(plain, t, 2 * v),
  };
  if (device.is_gpu) others.insert(others.begin(), Shaped(plan, t / 2, v));
  if (plan.splits > 1) others.insert(others.begin(), With(plan, &KernelPlan::splits, 1));
  return others;
}

std::vector<KernelPlan> Columns(const KernelPlan& plan, const DeviceDescription& device) {
  const int64_t t = plan.threads, v = plan.vector, u = plan.unroll, s = plan.splits;
  std::vector<KernelPlan> others = {
      Shaped(plan, 2 * t, v),
      Shaped(plan, t / 2, v),
      With(plan, &KernelPlan::unroll, 2 * u),
      With(plan, &KernelPlan::unroll, u == 1 ? 4 : u / 2),
      Shaped(plan, t, 2 * v),
      Shaped(plan, t, v / 2),
      With(plan, &KernelPlan::splits, 2 * s),
      With(plan, &KernelPlan::splits, s == 1 ? device.multiprocessors : s / 2),
  };
  return others;
}

std::vector<KernelPlan> Scans(const KernelPlan& plan) {
  const int64_t t = plan.threads, v = plan.vector, u = plan.unroll;
  return {With(plan, &KernelPlan::unroll, 2 * u),
          With(plan, &KernelPlan::unroll, u == 1 ? 4 : u / 2),
          Shaped(plan, t, 2 * v),
          Shaped(plan, t, v / 2),
          Shaped(plan, 2 * t, v),
          Shaped(plan, t / 2, v)};
}

std::vector<KernelPlan> Transposes(const KernelPlan& plan, const DeviceDescription& device) {
  std::vector<KernelPlan> others;
  if (!plan.algorithm.empty()) {
    for (size_t i = plan.tile.size(); i-- > 0;) {
      others.push_back(plan);
      others.back().tile[i] = kernel::CeilDiv(plan.tile[i], 2);
    }
    return others;
  }
  if (plan.tile[0] == plan.threads) {
    for (const int64_t threads : {2 * plan.threads, plan.threads / 2, 4 * plan.threads}) {
      others.push_back(With(plan, &KernelPlan::threads, threads));
      others.back().tile[0] = threads;
    }
  }
  for (const int64_t rows : {64, 32}) {
    for (const int64_t columns : {64, 32}) {
      others.push_back(plan);
      others.back().tile = {rows, columns};
    }
  }
  if (!device.is_gpu) {
    for (const int64_t side : {16, 32}) {
      others.push_back(With(plan, &KernelPlan::threads, 32));
      others.back().tile = {512, side, side};
    }
  }
  others.push_back(With(plan, &KernelPlan::threads, 128));
  others.push_back(With(plan, &KernelPlan::threads, 512));
  return others;
}

std::vector<KernelPlan> Scatters(const KernelPlan& plan, const DeviceDescription& device) {
  return {With(plan, &KernelPlan::splits, plan.splits == 1 ? device.multiprocessors : plan.splits / 2),
          With(plan, &KernelPlan::splits, 2 * plan.splits), With(plan, &KernelPlan::threads, 2 * plan.threads),
          With(plan, &KernelPlan::threads, plan.threads / 2)};
}

// Keeps the form of the plan (plan/contraction.cpp).
std::vector<KernelPlan> Contractions(const KernelPlan& plan) {
  const int64_t warps = plan.threads / 32, rows = plan.tile[0], panel = plan.tile[2];
  const auto tile = [&](int64_t of_warp, int64_t count, int64_t vector, int64_t terms) {
    KernelPlan other = plan;
    other.threads = 32 * count;
    other.vector = vector;
    other.tile = {of_warp * count, 32 * vector, terms};
    return other;
  };
  if (panel == kStreamedPanel) {
    const auto columns = [&](int64_t threads, int64_t vector) {
      KernelPlan other = Shaped(plan, threads, vector);
      other.tile = {rows, threads * vector, panel};
      return other;
    };
    return {columns(plan.threads / 2, plan.vector), columns(2 * plan.threads, plan.vector),
            columns(plan.threads, plan.vector / 2), columns(plan.threads, 2 * plan.vector)};
  }
  const int64_t of_warp = rows / warps;
  if (!plan.algorithm.empty()) {
    KernelPlan tall = plan, wide = plan;
    tall.tile[0] = rows == 64 ? 128 : 64;
    wide.tile[2] = panel == 32 ? 64 : 32;
    return {tall, wide, With(plan, &KernelPlan::splits, 2 * plan.splits),
            With(plan, &KernelPlan::splits, plan.splits / 2)};
  }
  if (panel < kLeastPackedPanel)
    return {tile(of_warp * 2, warps, plan.vector, panel),          tile(of_warp / 2, warps, plan.vector, panel),
            tile(of_warp, warps, plan.vector == 4 ? 2 : 4, panel), tile(of_warp, warps, plan.vector, 96 - panel),
            With(plan, &KernelPlan::splits, 2 * plan.splits),      With(plan, &KernelPlan::splits, plan.splits / 2)};
  return {tile(of_warp, warps, plan.vector, 2 * panel <= kMostPackedPanel ? 2 * panel : kMostPackedPanel),
          tile(of_warp, 2 * warps, plan.vector, panel),
          tile(of_warp, std::max<int64_t>(1, warps / 2), plan.vector, panel),
          tile(of_warp, warps, 2 * plan.vector, panel),
          tile(of_warp, warps, plan.vector / 2, panel),
          tile(8, std::max<int64_t>(1, rows / 8), plan.vector, panel),
          tile(4, std::max<int64_t>(1, rows / 4), plan.vector, panel)};
}

std::vector<KernelPlan> OthersOf(const KernelPlan& plan, const DeviceDescription& device) {
  switch (plan.kind) {
    case KernelKind::kLoop: return Loops(plan);
    case KernelKind::kTranspose: return Transposes(plan, device);
    case KernelKind::kRows:
    case KernelKind::kRowReduction: return Rows(plan, device);
    case KernelKind::kColumnReduction: return Columns(plan, device);
    case KernelKind::kScan: return Scans(plan);
    case KernelKind::kScatter: return Scatters(plan, device);
    case KernelKind::kContraction: return Contractions(plan);
    default: return {};
  }
}

// Kernels with equal numbers, such as a scan's totals and the scan, change together.
bool HasNumbersOf(const KernelPlan& a, const KernelPlan& b) {
  return a.kind == b.kind && a.tile == b.tile && a.vector == b.vector && a.threads == b.threads &&
         a.splits == b.splits && a.unroll == b.unroll;
}

void TakeNumbers(const KernelPlan& from, KernelPlan& to) {
  to.tile = from.tile;
  to.vector = from.vector;
  to.threads = from.threads;
  to.splits = from.splits;
  to.unroll = from.unroll;
}

bool IsPlan(const KernelPlan& plan) {
  const auto is_positive = [](int64_t number) { return number >= 1; };
  return std::ranges::all_of(plan.tile, is_positive) && plan.vector >= 1 && plan.vector <= 16 && plan.threads >= 32 &&
         plan.threads <= 1024 && plan.splits >= 1 && plan.unroll >= 1 && plan.unroll <= 32;
}

}  // namespace

std::vector<FusionPlan> VariantsOf(const Instruction& fusion, const FusionPlan& chosen,
                                   const DeviceDescription& device) {
  std::vector<FusionPlan> variants;
  if (chosen.kernels.empty()) return variants;
  const KernelPlan& last = chosen.kernels.back();
  const auto add = [&](FusionPlan plan) {
    const bool fits = std::ranges::all_of(plan.kernels, IsPlan);
    if (fits && plan.kernels != chosen.kernels && std::ranges::find(variants, plan) == variants.end())
      variants.push_back(std::move(plan));
  };
  for (const KernelPlan& other : OthersOf(last, device)) {
    FusionPlan plan = chosen;
    for (KernelPlan& kernel : plan.kernels) {
      if (HasNumbersOf(kernel, last)) TakeNumbers(other, kernel);
    }
    add(std::move(plan));
  }
  if (last.kind != KernelKind::kTranspose) return variants;
  // Tiles help only if the cache cannot hold the lines between reads, so the loop is a variant too.
  const FusionBody body(fusion);
  PlanRequest request(body, device);
  if (auto loops = PlanLoop(request); loops && !loops->candidates.empty()) {
    FusionPlan plan = chosen;
    plan.kernels = std::move(loops->candidates.front());
    add(std::move(plan));
  }
  return variants;
}

}  // namespace hlo::gpu
