#include "gpu/runtime/buffers.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "gpu/device/device.h"

namespace hlo::gpu {
namespace {

std::vector<Interval> Union(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end(), [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  std::vector<Interval> merged;
  for (const Interval& interval : all) {
    if (!merged.empty() && interval.begin <= merged.back().end + 1) {
      merged.back().end = std::max(merged.back().end, interval.end);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

struct Buffer {
  std::vector<int> values;
  std::vector<Interval> live;
  int64_t bytes = 0;
  int output = -1;  // A value that is a result. -1 for none.
};

class Planner {
 public:
  Planner(const Module& module, Values values, const BufferOptions& options) : module_(module), options_(options) {
    plan_.values = std::move(values);
  }

  BufferPlan Plan() {
    MakeBuffers();
    MergeBuffers();
    ListCopies();
    PlaceConstants();
    PlaceOutputs();
    PlaceArena();
    for (size_t v = 0; v < all().size(); ++v) {
      if (plan_.buffer_of[v] >= 0) plan_.place_of[v] = place_of_buffer_[plan_.buffer_of[v]];
    }
    return std::move(plan_);
  }

 private:
  std::vector<BufferedValue>& all() { return plan_.values.values; }

  bool IsDonated(int64_t parameter, const ShapeIndex& index) const {
    for (const BufferDonor& donor : module_.header.donors) {
      if (donor.parameter == parameter && donor.parameter_index == index) return true;
    }
    for (const InputOutputAlias& alias : module_.header.aliases) {
      if (alias.parameter == parameter && alias.parameter_index == index) return true;
    }
    return false;
  }

  std::set<int> DonatedLeaves() const {
    std::set<int> donated;
    int leaf = 0;
    for (const Instruction* parameter : module_.entry().parameters()) {
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex& index, const Shape&) {
        if (options_.reuse_parameters && IsDonated(parameter->parameter_number(), index)) donated.insert(leaf);
        ++leaf;
      });
    }
    return donated;
  }

  void MakeBuffers() {
    const std::set<int> donated = DonatedLeaves();
    plan_.buffer_of.assign(all().size(), -1);
    plan_.place_of.assign(all().size(), {});
    for (size_t v = 0; v < all().size(); ++v) {
      const BufferedValue& value = all()[v];
      if (value.bytes == 0 || value.kind == ValueKind::kConstant || value.live.empty()) continue;
      if (value.kind == ValueKind::kParameter && !donated.contains(value.leaf)) {
        plan_.place_of[v] = {Area::kParameter, value.leaf};
        continue;
      }
      AddBuffer(static_cast<int>(v));
    }
  }

  void AddBuffer(int value) {
    plan_.buffer_of[value] = static_cast<int>(buffers_.size());
    buffers_.push_back({{value}, all()[value].live, all()[value].bytes, all()[value].is_output ? value : -1});
  }

  Interval Allowed(int a, int b) const {
    const auto found = becomes_.find({a, b});
    if (found != becomes_.end()) return {4 * found->second + 1, 4 * found->second + 2};
    return kNever;
  }

  bool Conflict(const Buffer& a, const Buffer& b) {
    if (!Overlap(a.live, b.live)) return false;
    for (const int x : a.values) {
      for (const int y : b.values) {
        const auto &live_x = all()[x].live, &live_y = all()[y].live;
        if (Overlap(live_x, live_y) && Overlap(live_x, live_y, Allowed(x, y), Allowed(y, x))) return true;
      }
    }
    return false;
  }

  void TryMerge(int from, int to) {
    const int a = plan_.buffer_of[from], b = plan_.buffer_of[to];
    if (a < 0 || b < 0 || a == b || all()[from].bytes != all()[to].bytes) return;
    if (Conflict(buffers_[a], buffers_[b])) return;
    Buffer& kept = buffers_[std::min(a, b)];
    Buffer& gone = buffers_[std::max(a, b)];
    for (const int value : gone.values) plan_.buffer_of[value] = std::min(a, b);
    kept.values.insert(kept.values.end(), gone.values.begin(), gone.values.end());
    kept.live = Union(kept.live, gone.live);
    if (kept.output < 0) kept.output = gone.output;
    gone = {};
  }

  // Merges the buffers of values in this order: in-place steps that must share, control flow, copies, optional pairs.
  // Within each of these, large values come first.
  void MergeBuffers() {
    for (const Merge& merge : plan_.values.merges) becomes_[{merge.from, merge.to}] = merge.position;
    for (const InPlace& pair : plan_.values.in_place) {
      if (pair.may) becomes_[{pair.operand, pair.result}] = pair.position;
    }
    std::vector<std::pair<int, int>> wishes;
    const auto by_size = [&](const std::pair<int, int>& a, const std::pair<int, int>& b) {
      return all()[a.first].bytes > all()[b.first].bytes;
    };
    const auto grant = [&] {
      std::stable_sort(wishes.begin(), wishes.end(), by_size);
      for (const auto& [from, to] : wishes) TryMerge(from, to);
      wishes.clear();
    };
    for (const InPlace& pair : plan_.values.in_place) {
      if (pair.may && pair.must && !IsCopy(pair)) wishes.emplace_back(pair.operand, pair.result);
    }
    grant();
    for (const Merge& merge : plan_.values.merges) wishes.emplace_back(merge.from, merge.to);
    grant();
    for (const InPlace& pair : plan_.values.in_place) {
      if (pair.may && pair.must) wishes.emplace_back(pair.operand, pair.result);
    }
    grant();
    for (const InPlace& pair : plan_.values.in_place) {
      if (pair.may) wishes.emplace_back(pair.operand, pair.result);
    }
    grant();
  }

  bool IsCopy(const InPlace& pair) { return all()[pair.result].definition->Is(Opcode::kCopy); }

  void ListCopies() {
    for (const InPlace& pair : plan_.values.in_place) {
      if (pair.must && all()[pair.result].bytes > 0 && !OneBuffer(pair.operand, pair.result)) {
        plan_.copies[pair.position].push_back({pair.operand, pair.result});
      }
    }
    std::map<int64_t, std::vector<PlannedCopy>> pending;
    for (const Merge& merge : plan_.values.merges) {
      if (all()[merge.to].bytes > 0 && !OneBuffer(merge.from, merge.to))
        pending[merge.position].push_back({merge.from, merge.to});
    }
    for (auto& [position, copies] : pending) plan_.copies[position] = InOrder(position, std::move(copies));
  }

  bool OneBuffer(int a, int b) const { return plan_.buffer_of[a] >= 0 && plan_.buffer_of[a] == plan_.buffer_of[b]; }

  // No copy may overwrite memory that a pending copy reads. In a swap, one source is first saved in scratch.
  std::vector<PlannedCopy> InOrder(int64_t position, std::vector<PlannedCopy> pending) {
    std::vector<PlannedCopy> order;
    while (!pending.empty()) {
      const auto free = std::find_if(pending.begin(), pending.end(), [&](const PlannedCopy& copy) {
        return std::none_of(pending.begin(), pending.end(),
                            [&](const PlannedCopy& other) { return OneBuffer(other.from, copy.to); });
      });
      if (free != pending.end()) {
        order.push_back(*free);
        pending.erase(free);
        continue;
      }
      PlannedCopy& stuck = pending.front();
      const int saved = AddScratch(plan_.values, *all()[stuck.to].definition, position, all()[stuck.from].bytes);
      plan_.buffer_of.push_back(-1);
      plan_.place_of.emplace_back();
      AddBuffer(saved);
      order.push_back({stuck.from, saved});
      stuck.from = saved;
    }
    return order;
  }

  void PlaceConstants() {
    std::unordered_multimap<uint64_t, int64_t> by_hash;
    for (size_t v = 0; v < all().size(); ++v) {
      const BufferedValue& value = all()[v];
      if (value.kind != ValueKind::kConstant || value.bytes == 0) continue;
      const Instruction& constant = *value.definition;
      CHECK(constant.shape().IsArray(), constant.name(), " ", constant.shape());
      const uint64_t hash = constant.literal().KeptHash();
      int64_t number = -1;
      for (auto [at, end] = by_hash.equal_range(hash); at != end; ++at) {
        const Instruction& other = *plan_.constants[at->second];
        if (other.shape() == constant.shape() && other.literal().BitEquals(constant.literal())) number = at->second;
      }
      if (number < 0) {
        number = static_cast<int64_t>(plan_.constants.size());
        plan_.constants.push_back(&constant);
        by_hash.emplace(hash, number);
      }
      plan_.place_of[v] = {Area::kConstant, number};
    }
  }

  // A result without the default layout stays in the arena and is reordered for the caller.
  void PlaceOutputs() {
    place_of_buffer_.resize(buffers_.size());
    const Instruction& root = module_.entry().root();
    plan_.output_bytes.assign(root.shape().LeafCount(), 0);
    if (options_.outputs_in_arena) return;
    int leaf = 0;
    ForEachLeaf(root.shape(), [&](const ShapeIndex&, const Shape& shape) {
      const int value = plan_.values.of_instruction[root.id()][leaf];
      const int buffer = plan_.buffer_of[value];
      if (buffer >= 0 && place_of_buffer_[buffer].area == Area::kNothing && shape.HasDefaultLayout() &&
          shape.ByteSize() == buffers_[buffer].bytes) {
        place_of_buffer_[buffer] = {Area::kOutput, leaf};
        plan_.output_bytes[leaf] = shape.ByteSize();
      }
      ++leaf;
    });
  }

  // Places the largest buffers first, each in the smallest gap that fits.
  void PlaceArena() {
    std::vector<int> order;
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (!buffers_[b].values.empty() && place_of_buffer_[b].area == Area::kNothing)
        order.push_back(static_cast<int>(b));
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return buffers_[a].bytes > buffers_[b].bytes; });
    struct Used {
      int64_t begin, end;
    };
    std::vector<int> placed;
    std::vector<Used> used;
    for (const int buffer : order) {
      used.clear();
      for (const int other : placed) {
        if (!Overlap(buffers_[buffer].live, buffers_[other].live)) continue;
        const int64_t begin = place_of_buffer_[other].offset;
        used.push_back({begin, begin + AlignedBytes(buffers_[other].bytes)});
      }
      std::sort(used.begin(), used.end(), [](const Used& a, const Used& b) { return a.begin < b.begin; });
      const int64_t bytes = AlignedBytes(buffers_[buffer].bytes);
      int64_t best = -1, best_gap = INT64_MAX, top = 0;
      for (const Used& range : used) {
        const int64_t gap = range.begin - top;
        if (gap >= bytes && gap < best_gap) {
          best = top;
          best_gap = gap;
        }
        top = std::max(top, range.end);
      }
      if (best < 0) best = top;
      place_of_buffer_[buffer] = {Area::kArena, 0, best};
      plan_.arena_bytes = std::max(plan_.arena_bytes, best + bytes);
      placed.push_back(buffer);
    }
    FindLowerBound(placed);
  }

  void FindLowerBound(const std::vector<int>& placed) {
    std::map<int64_t, int64_t> change;
    for (const int buffer : placed) {
      for (const Interval& live : buffers_[buffer].live) {
        change[live.begin] += AlignedBytes(buffers_[buffer].bytes);
        change[live.end + 1] -= AlignedBytes(buffers_[buffer].bytes);
      }
    }
    int64_t bytes = 0;
    for (const auto& [unit, delta] : change)
      plan_.arena_lower_bound = std::max(plan_.arena_lower_bound, bytes += delta);
  }

  const Module& module_;
  const BufferOptions& options_;
  BufferPlan plan_;
  std::vector<Buffer> buffers_;  // A buffer that was merged into another stays without values.
  std::vector<Place> place_of_buffer_;
  std::map<std::pair<int, int>, int64_t> becomes_;
};

std::string_view AreaName(Area area) {
  switch (area) {
    case Area::kNothing: return "nothing";
    case Area::kParameter: return "parameter";
    case Area::kConstant: return "constant";
    case Area::kOutput: return "output";
    case Area::kArena: return "arena";
    case Area::kCounters: return "counters";
    case Area::kPacked: return "packed";
  }
  return "";
}

}  // namespace

BufferPlan PlanBuffers(const Module& module, Values values, const BufferOptions& options) {
  return Planner(module, std::move(values), options).Plan();
}

std::string ToString(const BufferPlan& plan) {
  std::string out = Str("arena ", plan.arena_bytes, " bytes, at least ", plan.arena_lower_bound, " live at once\n");
  std::vector<int> order;
  for (size_t v = 0; v < plan.place_of.size(); ++v) {
    if (plan.place_of[v].area != Area::kNothing) order.push_back(static_cast<int>(v));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const Place &x = plan.place_of[a], &y = plan.place_of[b];
    return std::tuple(x.area, x.number, x.offset) < std::tuple(y.area, y.number, y.offset);
  });
  for (const int v : order) {
    const BufferedValue& value = plan.values.values[v];
    const Place& place = plan.place_of[v];
    out += Str(AreaName(place.area), " ", place.area == Area::kArena ? place.offset : place.number, ": ",
               value.definition->name());
    if (value.kind == ValueKind::kScratch) {
      out += " scratch";
    } else if (value.definition->shape().IsTuple()) {
      out += Str("{", value.leaf, "}");
    }
    out += Str(" ", value.bytes, " bytes");
    for (const Interval& live : value.live) out += Str(", ", live.begin / 4, "..", live.end / 4);
    out += '\n';
  }
  for (const auto& [position, copies] : plan.copies) {
    for (const PlannedCopy& copy : copies) {
      const BufferedValue &from = plan.values.values[copy.from], &to = plan.values.values[copy.to];
      out += Str("copy at ", position, ": ", from.definition->name(), "{", from.leaf, "} to ", to.definition->name(),
                 "{", to.leaf, "}\n");
    }
  }
  return out;
}

}  // namespace hlo::gpu
