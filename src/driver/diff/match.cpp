#include "driver/diff/match.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "driver/line_diff.h"

namespace hlo {
namespace {

enum class Likeness : uint8_t { kOperation, kOrigin, kKind, kOpcode, kReplaced };

class Matcher {
 public:
  Matcher(const DiffGraph& left, const DiffGraph& right) : left_(left), right_(right) {
    match_.right_of.assign(left.size(), -1);
    match_.left_of.assign(right.size(), -1);
  }

  DiffMatch Take() {
    const auto both = [](const DiffNode& node) { return MixHash(node.operand_cone, node.user_cone); };
    Group(both, /*equal_counts=*/true);
    // Skips nodes without operands, such as parameters and constants, because nothing identifies them here.
    Group([](const DiffNode& node) { return node.operand_count == 0 ? 0 : node.operand_cone; });
    Group([](const DiffNode& node) { return node.user_cone; });
    Spread(Likeness::kOperation);
    Group([](const DiffNode& node) { return node.origin == 0 ? 0 : MixHash(node.origin, node.operation); });
    Group([](const DiffNode& node) { return node.operand_cone; });
    Group([](const DiffNode& node) { return node.origin == 0 ? 0 : MixHash(node.origin, node.kind); });
    Spread(Likeness::kOrigin);
    Spread(Likeness::kKind);
    Spread(Likeness::kOpcode);
    Group([](const DiffNode& node) { return node.operand_cone; }, /*equal_counts=*/true);
    FillGaps();
    PairEnds();
    Spread(Likeness::kOpcode);
    Spread(Likeness::kReplaced);
    return std::move(match_);
  }

 private:
  void Pair(int left, int right) {
    match_.right_of[left] = right;
    match_.left_of[right] = left;
    fresh_.emplace_back(left, right);
  }
  bool IsFree(int left, int right) const { return match_.right_of[left] < 0 && match_.left_of[right] < 0; }

  // Pairs free nodes whose key occurs once on each side or, with `equal_counts`, equally often. Skips key 0.
  template <class Key>
  void Group(const Key& key, bool equal_counts = false) {
    using Entry = std::pair<uint64_t, int>;
    const auto sorted = [&](const DiffGraph& graph, const std::vector<int>& other) {
      std::vector<Entry> entries;
      for (int i = 0; i < graph.size(); ++i) {
        if (other[i] >= 0) continue;
        if (const uint64_t value = key(graph.nodes[i]); value != 0) entries.emplace_back(value, i);
      }
      std::ranges::sort(entries);
      return entries;
    };
    const std::vector<Entry> lefts = sorted(left_, match_.right_of), rights = sorted(right_, match_.left_of);
    for (size_t l = 0, r = 0; l < lefts.size() && r < rights.size();) {
      const auto end = [](const std::vector<Entry>& entries, size_t begin) {
        size_t last = begin;
        while (last < entries.size() && entries[last].first == entries[begin].first) ++last;
        return last;
      };
      if (lefts[l].first != rights[r].first) {
        ++(lefts[l].first < rights[r].first ? l : r);
        continue;
      }
      const size_t l_end = end(lefts, l), r_end = end(rights, r);
      const bool is_sure = equal_counts ? l_end - l == r_end - r : l_end - l == 1 && r_end - r == 1;
      for (size_t i = 0; is_sure && i < l_end - l; ++i) Pair(lefts[l + i].second, rights[r + i].second);
      l = l_end, r = r_end;
    }
  }

  // Pairs neighbours of pairs, also of new pairs, with at least this likeness. Stricter likeness comes first.
  void Spread(Likeness likeness) {
    fresh_.clear();
    for (int i = 0; i < left_.size(); ++i) {
      if (match_.right_of[i] >= 0) fresh_.emplace_back(i, match_.right_of[i]);
    }
    for (size_t next = 0; next < fresh_.size(); ++next) {
      const auto [left, right] = fresh_[next];
      for (int level = 0; level <= static_cast<int>(likeness); ++level) {
        PairOperands(left, right, static_cast<Likeness>(level));
        PairUsers(left, right, static_cast<Likeness>(level));
      }
    }
  }

  bool IsLike(int left, int right, Likeness likeness) const {
    const DiffNode &a = left_.nodes[left], &b = right_.nodes[right];
    switch (likeness) {
      case Likeness::kOperation: return a.operation == b.operation;
      case Likeness::kOrigin: return a.origin == b.origin && a.origin != 0;
      case Likeness::kKind: return a.kind == b.kind;
      case Likeness::kOpcode: return a.inst->opcode() == b.inst->opcode();
      case Likeness::kReplaced: return OperandsArePairs(left, right);
    }
    return false;
  }

  bool OperandsArePairs(int left, int right) const {
    const std::span<const int> as = left_.OperandsOf(left), bs = right_.OperandsOf(right);
    return !as.empty() && std::ranges::equal(as, bs, [&](int a, int b) { return match_.right_of[a] == b; });
  }

  void PairOperands(int left, int right, Likeness likeness) {
    const std::span<const int> as = left_.OperandsOf(left), bs = right_.OperandsOf(right);
    for (size_t i = 0; i < std::min(as.size(), bs.size()); ++i) {
      if (IsFree(as[i], bs[i]) && IsLike(as[i], bs[i], likeness)) Pair(as[i], bs[i]);
    }
  }

  // Users of a pair are paired only if their keys and operand positions are equal.
  static uint64_t KeyOf(const DiffNode& node, Likeness likeness) {
    switch (likeness) {
      case Likeness::kOperation: return node.operation;
      case Likeness::kOrigin: return node.origin;
      case Likeness::kKind: return node.kind;
      case Likeness::kOpcode: return static_cast<uint64_t>(node.inst->opcode());
      case Likeness::kReplaced: return 0;
    }
    return 0;
  }

  void PairUsers(int left, int right, Likeness likeness) {
    FreeUsers(left_, match_.right_of, left, likeness, &left_users_);
    if (left_users_.empty()) return;
    FreeUsers(right_, match_.left_of, right, likeness, &right_users_);
    const auto is_alone = [](const std::vector<User>& users, size_t i) {
      const auto same = [&](size_t k) { return k < users.size() && users[k].SameSort(users[i]); };
      return !same(i + 1) && !(i > 0 && same(i - 1));
    };
    for (size_t l = 0, r = 0; l < left_users_.size() && r < right_users_.size();) {
      const User &a = left_users_[l], &b = right_users_[r];
      if (!a.SameSort(b)) {
        ++(a < b ? l : r);
        continue;
      }
      const bool is_sure = is_alone(left_users_, l) && is_alone(right_users_, r) && IsFree(a.node, b.node);
      if (is_sure && IsLike(a.node, b.node, likeness)) Pair(a.node, b.node);
      ++l, ++r;
    }
  }

  struct User {
    int index;
    uint64_t key;
    int node;
    bool SameSort(const User& other) const { return index == other.index && key == other.key; }
    auto operator<=>(const User&) const = default;
  };

  static void FreeUsers(const DiffGraph& graph, const std::vector<int>& other, int node, Likeness likeness,
                        std::vector<User>* users) {
    users->clear();
    for (const DiffGraph::Use& use : graph.UsersOf(node)) {
      if (other[use.user] < 0) users->push_back({use.index, KeyOf(graph.nodes[use.user], likeness), use.user});
    }
    std::ranges::sort(*users);
  }

  void FillGaps() {
    std::vector<size_t> places, there;
    for (int i = 0; i < left_.size(); ++i) {
      if (match_.right_of[i] < 0) continue;
      places.push_back(match_.right_of[i]);
      there.push_back(i);
    }
    int left = 0, right = 0;
    for (const size_t stayed : LongestIncreasing(places)) {
      const int left_end = static_cast<int>(there[stayed]), right_end = static_cast<int>(places[stayed]);
      FillGap(left, left_end, right, right_end);
      left = left_end + 1, right = right_end + 1;
    }
    FillGap(left, left_.size(), right, right_.size());
  }

  void PairEnds() {
    const auto pair = [&](const Instruction* left, const Instruction* right, int l, int r) {
      if (IsFree(l, r) && left->opcode() == right->opcode()) Pair(l, r);
    };
    pair(left_.nodes[left_.root].inst, right_.nodes[right_.root].inst, left_.root, right_.root);
    std::unordered_map<int64_t, int> parameters;
    for (int i = 0; i < right_.size(); ++i) {
      const Instruction& inst = *right_.nodes[i].inst;
      if (inst.Is(Opcode::kParameter) && match_.left_of[i] < 0) parameters[inst.parameter_number()] = i;
    }
    for (int i = 0; i < left_.size(); ++i) {
      const Instruction& inst = *left_.nodes[i].inst;
      if (!inst.Is(Opcode::kParameter)) continue;
      const auto other = parameters.find(inst.parameter_number());
      if (other != parameters.end()) pair(&inst, right_.nodes[other->second].inst, i, other->second);
    }
  }

  void FillGap(int left, int left_end, int right, int right_end) {
    using Entry = std::pair<uint64_t, int>;
    const auto free = [](const DiffGraph& graph, const std::vector<int>& other, int begin, int end) {
      std::vector<Entry> entries;
      for (int i = begin; i < end; ++i) {
        if (other[i] < 0) entries.emplace_back(graph.nodes[i].kind, i);
      }
      std::ranges::sort(entries);
      return entries;
    };
    const std::vector<Entry> lefts = free(left_, match_.right_of, left, left_end);
    if (lefts.empty()) return;
    const std::vector<Entry> rights = free(right_, match_.left_of, right, right_end);
    for (size_t l = 0, r = 0; l < lefts.size() && r < rights.size();) {
      if (lefts[l].first == rights[r].first) Pair(lefts[l++].second, rights[r++].second);
      else ++(lefts[l].first < rights[r].first ? l : r);
    }
  }

  const DiffGraph &left_, &right_;
  DiffMatch match_;
  std::vector<std::pair<int, int>> fresh_;
  std::vector<User> left_users_, right_users_;
};

}  // namespace

DiffMatch MatchGraphs(const DiffGraph& left, const DiffGraph& right) { return Matcher(left, right).Take(); }

}  // namespace hlo
