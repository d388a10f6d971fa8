// The planner of dots and convolutions that no library computes. The terms of a tile select one of three forms:
//
//   32, 64       tiled (emitters/tiled_product.h): for a GPU; operands are in shared memory; matrix units multiply
//                if `algorithm` is kMatrixUnits, else threads
//   96 to 384    packed (emitters/packed_contraction.cpp): for a host; registers hold the sums of a panel
//   512          streamed (emitters/streamed_contraction.cpp): for a host and few rows; rhs is not packed
#include <algorithm>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/contraction_space.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

// Products with at most this many terms are of kind loop, with one thread for each element.
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

// For narrow groups kind loop is better, because its vectors cover several groups.
bool HasNarrowGroups(const Instruction& product) {
  constexpr int64_t kNarrow = 8;
  if (!product.Is(Opcode::kConvolution)) return false;
  const auto& attrs = product.attrs<ConvolutionAttrs>();
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  return groups > 1 && product.operand(1).shape().dim(attrs.dim_labels.rhs_output_feature) / groups < kNarrow;
}

// The product for a kernel of kind contraction, or the reason against it. Both are empty if no product suits.
struct Candidate {
  std::unique_ptr<ContractionSpace> space;
  const Instruction* product = nullptr;
  std::string hero;
  std::string why;
};

Result<Candidate> FindCandidate(const FusionBody& body) {
  std::vector<const Instruction*> heroes;
  bool many_terms = false;
  for (const Instruction* inst : body.instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    heroes.push_back(inst);
    // Saturating products have no other kernel.
    many_terms = many_terms || TermsOf(*inst) > kFewTerms || Saturates(*inst);
  }
  Candidate candidate;
  if (!many_terms) return candidate;
  constexpr std::string_view kSlow = "one thread computes each element of a product: ";
  const Instruction* const hero = heroes[0];
  if (heroes.size() > 1) candidate.why = Str(kSlow, "the number of products in the fusion is ", heroes.size());
  if (heroes.size() > 1 || hero->operand_count() != 2 || HasNarrowGroups(*hero)) return candidate;
  const PrimitiveType type = hero->shape().type();
  TRY(KernelType(*hero, type));
  const bool is_wide = Saturates(*hero) && BitWidth(type) == 64;  // The exact sums need more than 64 bits.
  if (type == PrimitiveType::kPred || IsComplex(type) || is_wide)
    candidate.why = Str(kSlow, "there are no tiled kernels for ", type);
  if (!candidate.why.empty()) return candidate;

  std::string why_not;
  candidate.space = TRY(ContractionSpaceOf(body, *hero, &why_not));
  if (!why_not.empty()) candidate.why = Str(kSlow, why_not);
  candidate.product = hero;
  if (body.source().Is(Opcode::kFusion)) candidate.hero = hero->name();
  return candidate;
}

// A warp's registers hold the sums of this many rows of two vectors, which hides the latency of multiply-adds.
constexpr int64_t kRegisterRows = 6;
// Sums and both operands' panels of such a tile fill half of a second-level cache of 512 KiB.
constexpr int64_t kMostWarps = 16, kMostVector = 8, kMostPanel = 128;
// Two blocks for each core even out their different times.
constexpr int64_t kBlocksOfCore = 2;
// The terms and sums of kStreamedRows rows fit into the first-level cache.
constexpr int64_t kStreamedRows = 4, kStreamedThreads = 256, kStreamedVector = 8;

// Size of the parts if `all` is divided into the fewest equal parts of at most `most`.
int64_t PartOf(int64_t all, int64_t most) { return CeilDiv(all, CeilDiv(all, most)); }

KernelPlan PackedPlan(const ContractionSpace& space, const DeviceDescription& device) {
  const int64_t rows = space.row().size, columns = space.column().size, terms = space.term().size;
  const int64_t warp_rows = PartOf(rows, kRegisterRows);
  int64_t warps = PartOf(CeilDiv(rows, warp_rows), kMostWarps), vector = 1;
  while (vector < kMostVector && 32 * vector < columns) vector *= 2;
  const auto blocks = [&] {
    return space.group().size * CeilDiv(rows, warp_rows * warps) * CeilDiv(columns, 32 * vector);
  };
  while (blocks() < kBlocksOfCore * device.multiprocessors && (warps > 4 || vector > 2)) {
    if (warps > 4) warps = CeilDiv(warps, 2);
    else vector /= 2;
  }
  const int64_t positions = std::min(space.position().size, kMostPanel / terms);
  const int64_t panel = positions > 1 ? positions * terms : PartOf(terms, kMostPanel);
  return {.kind = KernelKind::kContraction,
          .tile = {warp_rows * warps, 32 * vector, std::max(CeilDiv(panel, 32) * 32, kLeastPackedPanel)},
          .vector = vector,
          .threads = 32 * warps};
}

KernelPlan StreamedPlan(const ContractionSpace& space, const DeviceDescription& device) {
  const int64_t rows = space.row().size, columns = space.column().size;
  const int64_t parts = std::max<int64_t>(1, kBlocksOfCore * device.multiprocessors / space.group().size);
  const int64_t threads =
      std::clamp<int64_t>(CeilDiv(CeilDiv(columns, parts), 32 * kStreamedVector) * 32, 32, kStreamedThreads);
  return {.kind = KernelKind::kContraction,
          .tile = {rows, threads * kStreamedVector, kStreamedPanel},
          .vector = kStreamedVector,
          .threads = threads};
}

// Whether rhs is streamed, not packed: few rows use each element too rarely to pay for packing.
bool IsStreamed(const ContractionSpace& space) {
  const bool runs = space.RunsAlong(space.rhs, space.column()) || !space.RunsAlong(space.rhs, space.term());
  return space.row().size <= kStreamedRows && space.position().size == 1 && runs && space.lhs_conditions.empty() &&
         space.rhs_conditions.empty();
}

// Each multiprocessor gets about kWaves blocks. kMostSplits bounds the cost of adding partial sums.
int64_t SplitsOf(int64_t tiles, int64_t panels, const DeviceDescription& device) {
  constexpr int64_t kLeastPanels = 4, kMostSplits = 64, kWaves = 2;
  const int64_t wanted = kWaves * device.multiprocessors / tiles;
  const int64_t splits = std::clamp<int64_t>(wanted, 1, std::clamp<int64_t>(panels / kLeastPanels, 1, kMostSplits));
  return CeilDiv(panels, CeilDiv(panels, splits));
}

int64_t TilesOf(const ContractionSpace& space, int64_t rows, int64_t columns) {
  return space.group().size * CeilDiv(space.row().size, rows) * CeilDiv(space.column().size, columns);
}

// With fewer terms, most of a panel would be padding.
constexpr int64_t kLeastMatrixTerms = 16;

KernelPlan MatrixPlan(const ContractionSpace& space, const DeviceDescription& device) {
  constexpr int64_t kColumns = 64;
  const int64_t rows = space.row().size > 64 ? 128 : 64, terms = space.term().size, panel = terms <= 32 ? 32 : 64;
  return {.kind = KernelKind::kContraction,
          .tile = {rows, kColumns, panel},
          .threads = 256,
          .splits = SplitsOf(TilesOf(space, rows, kColumns), space.position().size * CeilDiv(terms, panel), device),
          .algorithm = std::string(kMatrixUnits)};
}

KernelPlan TiledPlan(const Instruction& hero, const ContractionSpace& space, const DeviceDescription& device) {
  if (FitsMatrixUnits(hero) && space.term().size >= kLeastMatrixTerms) return MatrixPlan(space, device);
  constexpr int64_t kWarps = 8, kPanel = 32, kWide = 128, kNarrow = 64;
  const int64_t rows = space.row().size;
  const int64_t warp_rows = rows <= kWarps ? 1 : rows <= 2 * kWarps ? 2 : rows <= 4 * kWarps ? 4 : 8;
  // For wide tiles, registers must hold the sums and each multiprocessor must still have a tile.
  const bool is_wide = space.column().size > kNarrow && BitWidth(hero.shape().type()) <= 32 &&
                       TilesOf(space, warp_rows * kWarps, kWide) >= device.multiprocessors;
  const int64_t columns = is_wide ? kWide : kNarrow;
  const int64_t tiles = TilesOf(space, warp_rows * kWarps, columns);
  return {.kind = KernelKind::kContraction,
          .tile = {warp_rows * kWarps, columns, kPanel},
          .vector = columns / 32,
          .threads = kWarps * 32,
          .splits = SplitsOf(tiles, space.position().size * CeilDiv(space.term().size, kPanel), device)};
}

PlanAnswer AnswerOf(const Candidate& candidate, KernelPlan plan) {
  if (!candidate.hero.empty()) plan.heroes.push_back(candidate.hero);
  return {.candidates = {{std::move(plan)}}};
}

// Whether our kernel is as fast as separate kernels for the operands and a library call, even if the library's
// arithmetic took no time.
bool IsWorthIt(const FusionBody& body, const Candidate& candidate, const DeviceDescription& device) {
  // Our rate as a share of a library's, for bf16 products and convolutions (bench/results/gpu.md).
  constexpr double kOwnShare = 0.1;
  const ContractionSpace& space = *candidate.space;
  const int width = BitWidth(candidate.product->operand(0).shape().type());
  const double rate = device.dot_rates[width <= 8 ? 0 : width <= 16 ? 1 : width <= 32 ? 2 : 3];
  double outside = 0, made = 0;  // Bytes of leaves and roots, and of operands that separate kernels would store.
  for (const FusionBody::Leaf& leaf : body.leaves()) outside += static_cast<double>(leaf.shape->ByteSize());
  for (const FusionBody::Root& root : body.roots()) outside += static_cast<double>(root.shape->ByteSize());
  double launches = 0;
  for (const Instruction* operand : candidate.product->operands()) {
    if (body.LeafOf(*operand) >= 0) continue;
    made += static_cast<double>(operand->shape().ByteSize());
    ++launches;
  }
  const double apart = (outside + 2 * made) / device.memory_rate + launches * device.launch_seconds;
  const double own =
      std::max(outside / device.memory_rate, 2.0 * static_cast<double>(space.Size()) / (kOwnShare * rate));
  return own <= apart;
}

}  // namespace

Result<PlanAnswer> PlanProductOfRegion(PlanRequest& request) {
  const DeviceDescription& device = request.device();
  if (!device.is_gpu) return PlanAnswer{};
  const Candidate candidate = TRY(FindCandidate(request.body()));
  if (candidate.space == nullptr || !IsWorthIt(request.body(), candidate, device)) return PlanAnswer{};
  return PlanContraction(request);
}

Result<PlanAnswer> PlanContraction(PlanRequest& request) {
  Candidate candidate = TRY(FindCandidate(request.body()));
  if (candidate.space == nullptr) return PlanAnswer{.why = candidate.why};
  ContractionSpace& space = *candidate.space;
  const DeviceDescription& device = request.device();
  if (device.is_gpu) return AnswerOf(candidate, TiledPlan(*candidate.product, space, device));
  space.PutNeighboursIntoColumns();
  return AnswerOf(candidate, IsStreamed(space) ? StreamedPlan(space, device) : PackedPlan(space, device));
}

}  // namespace hlo::gpu
