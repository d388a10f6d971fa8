#include "gpu/plan/transpose_box.h"

#include <algorithm>
#include <numeric>

#include "gpu/kernel/builder.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kMostRun = 1024;        // In elements. A block has at most this many threads.
constexpr int64_t kLeastLoadedRun = 8;    // In elements. Reading shorter runs one by one is faster.
constexpr int64_t kLongRun = 32;          // In elements. Longer runs are worth a loop.
constexpr int64_t kLeastElements = 1024;  // Smaller arrays take little time.

std::vector<int64_t> CoefficientsOf(const LoopSpace& space, IndexExpr offset) {
  std::vector<int64_t> coefficients;
  for (const LoopSpace::Variable& variable : space.variables)
    coefficients.push_back(space.pool.Coefficient(offset, variable.e));
  return coefficients;
}

bool IsInOrder(std::vector<int64_t> coefficients) {
  std::erase(coefficients, 0);
  return std::ranges::is_sorted(coefficients, std::greater<>());
}

// Whether the offset depends on a loaded index that varies, and so is not linear.
bool HasVaryingLoadedIndex(const LoopSpace& space, IndexExpr offset) {
  return std::ranges::any_of(space.pool[offset].variables, [&](int32_t variable) {
    return space.graph.IsLoadedIndex(variable) &&
           !space.graph.node(space.graph.LoadedIndex(variable)).variables.empty();
  });
}

// Loads whose order differs from the outputs'. Empty if their orders differ from each other, or if there are nodes
// other than loads and scalar ops.
std::vector<NodeId> MovedLoads(const LoopSpace& space) {
  std::vector<NodeId> moved;
  std::vector<int64_t> order;
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind == ElementNode::Kind::kScalar) continue;
    if (node.kind != ElementNode::Kind::kLoad || IsComplex(node.inst->shape().type())) return {};
    const std::vector<int64_t> coefficients = CoefficientsOf(space, node.offset);
    if (std::ranges::find(coefficients, IndexPool::kNotLinear) != coefficients.end()) return {};
    if (HasVaryingLoadedIndex(space, node.offset)) return {};
    const int64_t along = coefficients.back();
    if (along == 0 || (along == 1 && (space.minor().size >= kLongRun || IsInOrder(coefficients)))) continue;
    if (!moved.empty() && coefficients != order) return {};
    order = coefficients;
    moved.push_back(id);
  }
  return moved;
}

// Whether variables i and i + 1 are contiguous in the outputs and the other loads.
bool AreContiguous(const LoopSpace& space, std::span<const NodeId> moved, size_t i) {
  const auto sees_one = [&](IndexExpr offset) {
    const std::vector<int64_t> coefficients = CoefficientsOf(space, offset);
    return coefficients[i] == coefficients[i + 1] * space.variables[i + 1].size;
  };
  const std::vector<NodeId> nodes = space.graph.Reachable(space.Values());
  return std::ranges::all_of(space.outputs, [&](const auto& output) { return sees_one(output.offset); }) &&
         std::ranges::all_of(nodes, [&](NodeId id) {
           const ElementNode& node = space.graph.node(id);
           return node.kind != ElementNode::Kind::kLoad || std::ranges::find(moved, id) != moved.end() ||
                  sees_one(node.offset);
         });
}

int64_t WidestOf(const LoopSpace& space, std::span<const NodeId> loads) {
  int64_t bytes = 0;
  for (const NodeId load : loads) bytes += ByteWidth(space.graph.node(load).inst->shape().type());
  return bytes;
}

// The variables in the memory order of the loads or the outputs, minor first. A run covers the first variables that are
// completely inside the box, and the box's part of the next one.
class Side {
 public:
  Side(const LoopSpace& space, std::vector<size_t> order) : space_(space), order_(std::move(order)) {}

  int64_t Run(std::span<const int64_t> sides) const {
    int64_t run = 1;
    for (const size_t i : order_) {
      run *= sides[i];
      if (sides[i] < space_.variables[i].size) break;
    }
    return run;
  }

  // False if the run is complete, or the box too large.
  bool Lengthen(std::vector<int64_t>& sides, int64_t most) const {
    const auto partial = std::ranges::find_if(order_, [&](size_t i) { return sides[i] < space_.variables[i].size; });
    if (partial == order_.end()) return false;
    int64_t& side = sides[*partial];
    const int64_t size = space_.variables[*partial].size, longer = 4 * side > size ? size : 2 * side;
    const int64_t others = std::accumulate(sides.begin(), sides.end(), int64_t{1}, std::multiplies<>()) / side;
    if (others * longer > most) return false;
    side = longer;
    return true;
  }

 private:
  const LoopSpace& space_;
  std::vector<size_t> order_;
};

}  // namespace

int64_t TransposeBox::Elements() const { return Product(sides); }

int64_t TransposeBox::RunElements() const { return Product(std::span(sides).subspan(run)); }

int64_t TransposeBox::LoadedRunElements() const {
  int64_t elements = 1;
  for (size_t i = 0; i < loaded_run; ++i) elements *= sides[order[i]];
  return elements;
}

std::vector<int64_t> TransposeBox::WrittenPitches() const {
  std::vector<int64_t> pitches(sides.size(), 1);
  for (size_t i = sides.size(); --i > 0;) pitches[i - 1] = pitches[i] * sides[i];
  return pitches;
}

std::vector<int64_t> TransposeBox::LoadedPitches() const {
  std::vector<int64_t> pitches(sides.size());
  int64_t pitch = 1;
  for (const size_t i : order) {
    pitches[i] = pitch;
    pitch *= sides[i];
  }
  return pitches;
}

std::optional<TransposeBox> BoxOf(const LoopSpace& space, std::span<const int64_t> sides) {
  const size_t count = space.variables.size();
  if (count < 2 || sides.size() != count || space.outputs[0].in_place_leaf >= 0) return std::nullopt;
  for (const LoopSpace::Output& output : space.outputs) {
    if (space.pool.Coefficient(output.offset, space.minor().e) != 1) return std::nullopt;
  }
  TransposeBox box{.loads = MovedLoads(space), .sides = {sides.begin(), sides.end()}};
  if (box.loads.empty()) return std::nullopt;
  const std::vector<int64_t> coefficients = CoefficientsOf(space, space.graph.node(box.loads[0]).offset);
  for (size_t i = 0; i < count; ++i) {
    if (sides[i] < 1 || sides[i] > space.variables[i].size) return std::nullopt;
    if (sides[i] > 1) box.order.push_back(i);
  }
  const auto is_whole = [&](size_t i) { return sides[i] == space.variables[i].size; };
  box.run = count - 1;
  while (box.run > 0 && is_whole(box.run) && box.RunElements() * sides[box.run - 1] <= kMostRun &&
         AreContiguous(space, box.loads, box.run - 1))
    --box.run;
  std::ranges::sort(box.order, {}, [&](size_t i) { return coefficients[i]; });
  int64_t next = 1;
  for (const size_t i : box.order) {
    if (coefficients[i] != next) break;
    ++box.loaded_run;
    if (!is_whole(i)) break;
    next *= sides[i];
  }
  if (box.LoadedRunElements() < kLeastLoadedRun) return std::nullopt;
  return box;
}

std::optional<TransposeBox> FindBox(const LoopSpace& space) {
  if (space.variables.size() < 2 || space.Size() < kLeastElements || space.outputs[0].in_place_leaf >= 0)
    return std::nullopt;
  const std::vector<NodeId> loads = MovedLoads(space);
  if (loads.empty()) return std::nullopt;
  const std::vector<int64_t> coefficients = CoefficientsOf(space, space.graph.node(loads[0]).offset);
  std::vector<size_t> written, loaded;
  for (size_t i = space.variables.size(); i-- > 0;) {
    written.push_back(i);
    if (coefficients[i] > 0) loaded.push_back(i);
  }
  std::ranges::sort(loaded, {}, [&](size_t i) { return coefficients[i]; });
  const Side outputs(space, std::move(written)), inputs(space, std::move(loaded));
  const int64_t most = kFirstCacheBytes / WidestOf(space, loads);
  std::vector<int64_t> sides(space.variables.size(), 1);
  for (bool longer = true; longer;) {
    const bool outputs_first = outputs.Run(sides) <= inputs.Run(sides);
    longer = (outputs_first ? outputs : inputs).Lengthen(sides, most) ||
             (outputs_first ? inputs : outputs).Lengthen(sides, most);
  }
  // Makes the sides equal along each variable, because otherwise the last box could be short.
  for (size_t i = 0; i < sides.size(); ++i) {
    const int64_t size = space.variables[i].size;
    sides[i] = kernel::CeilDiv(size, kernel::CeilDiv(size, sides[i]));
  }
  return BoxOf(space, sides);
}

}  // namespace hlo::gpu
