#include "gpu/runtime/loop_condition.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "gpu/emitters/emission.h"
#include "gpu/kernel/tail.h"
#include "gpu/plan/elemental.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

constexpr size_t kMostInstructions = 32;

bool IsOneElement(const Shape& shape) {
  return shape.IsArray() && shape.NumElements() == 1 && ComponentCount(shape.type()) == 1;
}

bool IsSmall(const FusionBody& body) {
  const auto is_one = [](const auto* inst) { return IsOneElement(inst->shape()); };
  return body.roots().size() == 1 && body.roots()[0].shape->rank() == 0 &&
         body.roots()[0].shape->type() == PrimitiveType::kPred && body.instructions().size() <= kMostInstructions &&
         std::ranges::all_of(body.instructions(), is_one) &&
         std::ranges::all_of(body.leaves(), [](const FusionBody::Leaf& leaf) { return IsOneElement(*leaf.shape); });
}

const KernelWork* OnlyKernel(const Block& block, const Step** step) {
  *step = block.size() == 1 ? std::get_if<Step>(&block.front()) : nullptr;
  if (*step == nullptr || !(*step)->copies.empty() || (*step)->work.size() != 1) return nullptr;
  return std::get_if<KernelWork>(&(*step)->work.front());
}

bool Overlap(const PlaceUse& a, const PlaceUse& b) {
  return a.place.area == b.place.area && a.place.number == b.place.number &&
         a.place.offset < b.place.offset + b.bytes && b.place.offset < a.place.offset + a.bytes;
}

}  // namespace

void SetLoopCondition(KernelBuilder& k, Array condition, Value again, Array trips, bool first) {
  const Value made = first ? k.Constant(Type::kS64, 0) : trips.Load(int64_t{kTripsMade});
  const Value over = made >= trips.Load(int64_t{kMostTrips});
  const Value goes_on = again & ~over;
  trips.Store(int64_t{kTripsMade}, Select(goes_on, made + 1, made));
  k.If(again & over, [&] { trips.Store(int64_t{kEndless}, k.Constant(Type::kS64, 1)); });
  k.SetCondition(condition, Select(goes_on, k.Constant(Type::kU32, 1), k.Constant(Type::kU32, 0)));
}

std::optional<LoopCondition> ComputedCondition(const Block& condition, std::span<const EmittedKernel* const> emitted) {
  const Step* step = nullptr;
  const KernelWork* const work = OnlyKernel(condition, &step);
  if (work == nullptr || work->trips != 0) return std::nullopt;
  const FusionBody body(*step->instruction);
  if (!IsSmall(body)) return std::nullopt;
  IndexPool pool;
  ElementGraph graph(body, pool);
  const auto root = graph.Plan(*body.roots()[0].inst, {});
  if (!root) return std::nullopt;
  KernelBuilder k("next_trip", 1, kernel::kWarpSize);
  const Array handle = k.Condition("condition");
  std::vector<PlaceNumber> places;
  std::map<int, Array> leaves;
  const std::vector<KernelBuffer>& buffers = emitted[work->code]->buffers;
  for (const NodeId id : graph.Reachable(std::span(&*root, 1))) {
    const ElementNode& node = graph.node(id);
    using Kind = ElementNode::Kind;
    if (node.kind != Kind::kLoad && node.kind != Kind::kLiteral && node.kind != Kind::kScalar) return std::nullopt;
    if (node.kind != Kind::kLoad || leaves.contains(node.leaf)) continue;
    const FusionBody::Leaf& leaf = body.leaves()[node.leaf];
    const auto buffer = std::ranges::find_if(buffers, [&](const KernelBuffer& one) {
      return one.kind == KernelBuffer::Kind::kOperand && one.operand == leaf.operand && one.index == leaf.index;
    });
    if (buffer == buffers.end()) return std::nullopt;
    places.push_back(work->arguments.first + static_cast<PlaceNumber>(buffer - buffers.begin()));
    leaves[node.leaf] = k.Input(Str("in", node.leaf), KernelTypeOf(leaf.shape->type()), 1);
  }
  const Array trips = k.InOut("trips", Type::kS64, kTripFields);
  Emission emission(graph, k, leaves, {});
  k.Phase([&] {
    k.If(k.thread() == 0, [&] {
      const Emission::Scope scope(emission);
      SetLoopCondition(k, handle, emission.Emit(*root), trips, false);
    });
  });
  return LoopCondition{std::move(k).Build(), std::move(places)};
}

std::optional<FoldedCondition> FoldBehind(const Program& program, const KernelWork& work, const kernel::Kernel& kernel,
                                          const LoopCondition& tail) {
  const bool has_groups = std::ranges::any_of(kernel.arrays, [](const kernel::ArrayInfo& a) { return a.members > 0; });
  if (has_groups) return std::nullopt;
  // For each argument of the tail, the equal argument of `kernel`, or -1. The condition handle has none.
  std::vector<int> same = {-1};
  FoldedCondition folded;
  for (int i = 0; i < work.arguments.count; ++i) folded.places.push_back(work.arguments.first + i);
  for (const PlaceNumber place : tail.places) {
    const PlaceUse& use = program.places[place];
    int found = -1;
    for (int i = 0; i < work.arguments.count; ++i) {
      const PlaceUse& known = program.places[work.arguments.first + i];
      if (known.place == use.place && known.bytes == use.bytes && (found < 0 || work.writes[i])) found = i;
      else if (work.writes[i] && Overlap(known, use)) return std::nullopt;
    }
    same.push_back(found);
    if (found < 0) folded.places.push_back(place);
  }
  auto joined = kernel::AddTail(kernel, tail.kernel, same);
  if (!joined) return std::nullopt;
  folded.kernel = std::move(joined->kernel);
  folded.counts = joined->counts;
  return folded;
}

}  // namespace hlo::gpu
