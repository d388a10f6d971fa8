// dot-merger: merges dots that share an operand. The other operands are concatenated, and the results are slices.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/wait_graph.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Number of the newest groups that a dot may join.
constexpr int64_t kMostTries = 16;

// A dot whose operand `side` is not shared and has one free dimension.
struct Member {
  Instruction* dot;
  int64_t side;

  Instruction& shared() const { return dot->operand(1 - side); }
  Instruction& own() const { return dot->operand(side); }
  int64_t FreeDimension() const {
    const auto& attrs = dot->attrs<DotAttrs>();
    return FreeDimensions(own().shape().rank(), side == 0 ? attrs.lhs_batch : attrs.rhs_batch,
                          side == 0 ? attrs.lhs_contracting : attrs.rhs_contracting)
        .front();
  }
  // The free dimension in the result, where those of lhs come first.
  int64_t ResultDimension() const {
    return side == 0 ? static_cast<int64_t>(dot->attrs<DotAttrs>().lhs_batch.size()) : dot->shape().rank() - 1;
  }
};

struct Group {
  std::vector<Member> members;
  int64_t bytes = 0;                           // Bytes of the merged dot's arrays.
  std::unordered_set<const Instruction*> own;  // Unshared operands.
};

bool MayMerge(const Instruction& dot) {
  if (!dot.Is(Opcode::kDot) || dot.operand_count() != 2 || dot.IsDead() || dot.shape().NumElements() == 0) return false;
  if (!dot.control_predecessors().empty() || dot.common().sharding != CommonAttrs().sharding) return false;
  const auto fits = [](const Shape& shape) { return shape.HasDefaultLayout() && !shape.HasDynamicDims(); };
  return fits(dot.shape()) && fits(dot.operand(0).shape()) && fits(dot.operand(1).shape()) &&
         &dot.operand(0) != &dot.operand(1);
}

bool HasOneFreeDimension(const Instruction& dot, int64_t side) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const size_t others = side == 0 ? attrs.lhs_batch.size() + attrs.lhs_contracting.size()
                                  : attrs.rhs_batch.size() + attrs.rhs_contracting.size();
  return dot.operand(side).shape().rank() == static_cast<int64_t>(others) + 1;
}

// Whether two dots differ at most in operands and in the size of the free dimension.
bool SameProduct(const Member& a, const Member& b) {
  const auto &p = a.dot->attrs<DotAttrs>(), &q = b.dot->attrs<DotAttrs>();
  return p.lhs_batch == q.lhs_batch && p.lhs_contracting == q.lhs_contracting && p.rhs_batch == q.rhs_batch &&
         p.rhs_contracting == q.rhs_contracting && p.precision == q.precision && p.algorithm == q.algorithm &&
         a.dot->shape().type() == b.dot->shape().type() && a.own().shape().type() == b.own().shape().type();
}

int64_t Bytes(const Member& member) {
  return member.dot->shape().ByteSize() + member.own().shape().ByteSize() + member.shared().shape().ByteSize();
}

class DotMerger {
 public:
  DotMerger(Computation& computation, const PassContext& context)
      : computation_(computation), context_(context), order_(computation.PostOrder()), waits_(order_) {}

  bool Run() {
    for (const Instruction* inst : order_) {
      for (const Instruction* before : inst->control_predecessors()) waited_for_.insert(before);
    }
    // Keyed by the shared operand's position in the order, and the other's side.
    std::map<std::pair<size_t, int64_t>, std::vector<Group>> sharing;
    std::vector<size_t> number(computation_.place_limit());
    for (size_t i = 0; i < order_.size(); ++i) number[order_[i]->place()] = i;
    for (Instruction* inst : order_) {
      if (!MayMerge(*inst) || waited_for_.contains(inst)) continue;
      for (const int64_t side : {1, 0}) {
        const Member member{inst, side};
        if (!HasOneFreeDimension(*inst, side)) continue;
        sharing[{number[member.shared().place()], side}].push_back({{member}, Bytes(member), {&member.own()}});
      }
    }
    std::vector<Group> merged;
    for (auto& [shared, groups] : sharing) Merge(groups, &merged);
    for (const Group& group : merged) Build(group);
    return !merged.empty();
  }

 private:
  // Joins each dot of `groups` to the first earlier group that accepts it.
  void Merge(std::vector<Group>& groups, std::vector<Group>* merged) {
    std::vector<Group*> open;
    for (Group& group : groups) {
      if (taken_.contains(group.members.front().dot)) continue;
      const auto first = open.end() - std::min<int64_t>(kMostTries, std::ssize(open));
      const auto host = std::find_if(first, open.end(), [&](Group* other) { return TryJoin(*other, group); });
      if (host == open.end()) open.push_back(&group);
    }
    for (Group* group : open) {
      if (group->members.size() < 2) continue;
      for (const Member& member : group->members) taken_.insert(member.dot);
      merged->push_back(std::move(*group));
    }
  }

  bool TryJoin(Group& group, const Group& single) {
    const Member &first = group.members.front(), &member = single.members.front();
    const int64_t limit = context_.Get<DotMergingOptions>().max_bytes;
    if (!SameProduct(first, member) || (group.bytes > limit && single.bytes > limit)) return false;
    if (group.own.contains(&member.own())) return false;
    if (waits_.IsReachable(*member.dot, *first.dot) || waits_.IsReachable(*first.dot, *member.dot)) return false;
    if (!context_.ConsumeFuel()) return false;
    waits_.Join(*first.dot, *member.dot);
    group.members.push_back(member);
    group.own.insert(&member.own());
    group.bytes += single.bytes - member.shared().shape().ByteSize();
    return true;
  }

  void Build(const Group& group) {
    const Member& first = group.members.front();
    Instruction& like = *first.dot;
    const int64_t free = first.FreeDimension(), dim = first.ResultDimension();
    std::vector<Instruction*> parts;
    int64_t size = 0;
    for (const Member& member : group.members) {
      parts.push_back(&member.own());
      size += member.own().shape().dim(free);
    }
    const auto resized = [&](const Shape& shape, int64_t d) {
      Dims dims = shape.dims();
      dims[d] = size;
      return shape.WithDims(dims);
    };
    Instruction* const joined =
        Step(like, Opcode::kConcatenate, resized(first.own().shape(), free), parts, OneDimensionAttrs{{free}});
    Instruction *const lhs = first.side == 0 ? joined : &first.shared(), *const rhs =
                                                                             first.side == 0 ? &first.shared() : joined;
    Instruction* const dot = Step(like, Opcode::kDot, resized(like.shape(), dim), {lhs, rhs}, like.attrs<DotAttrs>());
    int64_t start = 0;
    for (const Member& member : group.members) {
      const Shape& shape = member.dot->shape();
      SliceAttrs attrs;
      for (const int64_t limit : shape.dims()) attrs.slice.dims.push_back({.start = 0, .limit = limit});
      attrs.slice.dims[dim] = {.start = start, .limit = start + shape.dim(dim)};
      start += shape.dim(dim);
      member.dot->ReplaceAllUses(*Replace(*member.dot, Opcode::kSlice, {dot}, attrs));
    }
  }

  Computation& computation_;
  const PassContext& context_;
  const std::vector<Instruction*> order_;
  WaitGraph waits_;
  std::set<const Instruction*> waited_for_, taken_;
};

}  // namespace

Result<bool> MergeDots(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= DotMerger(*computation, context).Run();
  return changed;
}

}  // namespace hlo
