#include "gpu/runtime/graph_order.h"

#include <algorithm>
#include <utility>

namespace hlo::gpu {
namespace {

class Closure {
 public:
  explicit Closure(size_t nodes) : words_((nodes + 63) / 64), bits_(nodes * words_) {}

  void Add(int node, int waited_for) {
    for (size_t i = 0; i < words_; ++i) bits_[node * words_ + i] |= bits_[waited_for * words_ + i];
    bits_[node * words_ + waited_for / 64] |= uint64_t{1} << (waited_for % 64);
  }
  bool Waits(int node, int for_that) const {
    return (bits_[node * words_ + for_that / 64] >> (for_that % 64) & 1) != 0;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

class Orderer {
 public:
  Orderer(std::span<const std::vector<int>> dependencies, std::span<const NodeWeight> weights, Concurrency concurrency,
          int64_t multiprocessors)
      : dependencies_(dependencies),
        weights_(weights),
        concurrency_(concurrency),
        multiprocessors_(multiprocessors),
        needed_(dependencies.size()),
        ordered_(dependencies.size()) {
    for (int node = 0; node < Count(); ++node) {
      for (const int before : dependencies[node]) needed_.Add(node, before);
    }
  }

  std::vector<std::vector<int>> Order() {
    std::vector<std::vector<int>> order(dependencies_.size());
    for (int node = 0; node < Count(); ++node) {
      order[node] = MayRunBeside(node) ? Direct(node) : ends_;
      for (const int before : order[node]) ordered_.Add(node, before);
      std::erase_if(ends_, [&](int end) { return ordered_.Waits(node, end); });
      ends_.push_back(node);
    }
    return order;
  }

 private:
  int Count() const { return static_cast<int>(dependencies_.size()); }

  std::vector<int> Direct(int node) const {
    std::vector<int> direct = dependencies_[node];
    std::erase_if(direct, [&](int one) {
      return std::ranges::any_of(dependencies_[node], [&](int other) { return ordered_.Waits(other, one); });
    });
    return direct;
  }

  bool MayRunBeside(int node) const {
    std::vector<int> others = ends_;
    std::erase_if(others, [&](int end) { return needed_.Waits(node, end); });
    if (others.empty() || concurrency_ == Concurrency::kNever) return false;
    if (concurrency_ == Concurrency::kAlways || others.size() < ends_.size())
      return true;  // The node continues a side that already exists.
    NodeWeight side = SideFrom(node, others);
    if (side.seconds < kLeastSideSeconds || side.blocks == 0) return false;
    int64_t blocks = side.blocks;
    for (const int end : others) {
      const NodeWeight other = SideTo(end, node);
      if (other.seconds < kLeastSideSeconds || other.blocks == 0) return false;
      blocks += other.blocks;
    }
    return blocks <= multiprocessors_;
  }

  // A side has an unknown number of blocks (0) if one of its nodes has.
  static void Add(NodeWeight* side, const NodeWeight& more, bool is_first) {
    side->seconds += more.seconds;
    side->blocks = more.blocks == 0 || (side->blocks == 0 && !is_first) ? 0 : std::max(side->blocks, more.blocks);
  }

  // Weight from `node` to the first node that waits for one of `others`.
  NodeWeight SideFrom(int node, const std::vector<int>& others) const {
    NodeWeight side;
    for (int later = node; later < Count(); ++later) {
      if (std::ranges::any_of(others, [&](int other) { return needed_.Waits(later, other); })) break;
      Add(&side, weights_[later], later == node);
    }
    return side;
  }

  // Weight of `end` and of nodes before it that do not precede `node`.
  NodeWeight SideTo(int end, int node) const {
    NodeWeight side;
    Add(&side, weights_[end], true);
    for (int before = 0; before < end; ++before) {
      if (ordered_.Waits(end, before) && !IsBefore(before, node)) Add(&side, weights_[before], false);
    }
    return side;
  }
  bool IsBefore(int before, int node) const {
    return std::ranges::any_of(dependencies_[node],
                               [&](int one) { return one == before || ordered_.Waits(one, before); });
  }

  const std::span<const std::vector<int>> dependencies_;
  const std::span<const NodeWeight> weights_;
  const Concurrency concurrency_;
  const int64_t multiprocessors_;
  Closure needed_;
  Closure ordered_;
  std::vector<int> ends_;  // Nodes without a follower so far, ascending.
};

}  // namespace

NodeWeight WeightOf(const Node& node) {
  const auto* const step = std::get_if<Step>(&node);
  return step == nullptr ? NodeWeight() : NodeWeight{.seconds = step->seconds, .blocks = step->blocks};
}

std::vector<std::vector<int>> GraphOrder(std::span<const std::vector<int>> dependencies,
                                         std::span<const NodeWeight> weights, Concurrency concurrency,
                                         int64_t multiprocessors) {
  return Orderer(dependencies, weights, concurrency, multiprocessors).Order();
}

}  // namespace hlo::gpu
