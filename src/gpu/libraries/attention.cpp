#include "gpu/libraries/attention.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/text.h"
#include "gpu/libraries/contraction.h"
#include "ir/dimensions.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

using Dims = std::vector<int64_t>;

using Pairs = std::set<std::pair<const Instruction*, const Instruction*>>;
bool IsSame(const Instruction& a, const Instruction& b, Pairs& known) {
  if (&a == &b || !known.emplace(&a, &b).second) return true;
  if (a.opcode() != b.opcode() || a.Is(Opcode::kParameter) || a.shape() != b.shape() ||
      a.operand_count() != b.operand_count() || HashOperation(a) != HashOperation(b))
    return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (!IsSame(a.operand(i), b.operand(i), known)) return false;
  }
  return true;
}
bool IsSame(const Instruction& a, const Instruction& b) {
  Pairs known;
  return IsSame(a, b, known);
}

// The dimensions larger than 1. Only these are numbered, because reshapes may add and drop others.
Dims SizesOf(const Shape& shape) {
  Dims sizes;
  std::ranges::copy_if(shape.dims(), std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  return sizes;
}
// The index in SizesOf, or -1 for size 1.
int64_t NumberOf(const Shape& shape, int64_t dim) {
  if (shape.dim(dim) == 1) return -1;
  return dim - std::count(shape.dims().begin(), shape.dims().begin() + dim, 1);
}
int64_t DimOf(const Shape& shape, int64_t number) {
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (number >= 0 && NumberOf(shape, d) == number) return d;
  }
  return -1;
}
// The only entry of `dims` that is larger than 1 in `shape`. Without one, the first entry. -1 for several, or if `dims`
// is empty.
int64_t Only(const Shape& shape, const Dims& dims) {
  int64_t only = -1;
  for (const int64_t d : dims) {
    if (shape.dim(d) == 1) continue;
    if (only >= 0) return -1;
    only = d;
  }
  return only < 0 && !dims.empty() ? dims.front() : only;
}

// Skips float conversions, and reshapes that add or drop dimensions of size 1.
const Instruction& WithoutConverts(const Instruction& inst) {
  const auto passes = [](const Instruction& at) {
    if (at.Is(Opcode::kConvert)) return IsFloat(at.shape().type()) && IsFloat(at.operand(0).shape().type());
    if (!at.Is(Opcode::kReshape) && !at.Is(Opcode::kBitcast)) return false;
    const Shape &to = at.shape(), &from = at.operand(0).shape();
    return to.type() == from.type() && SizesOf(to) == SizesOf(from) && to.HasDefaultLayout() && from.HasDefaultLayout();
  };
  const Instruction* at = &inst;
  while (passes(*at)) at = &at->operand(0);
  return *at;
}

bool IsFold(const Instruction& inst, Opcode op, double init) {
  if (!inst.Is(Opcode::kReduce) || inst.operand_count() != 2) return false;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  const Instruction& root = attrs.to_apply->root();
  return Only(inst.operand(0).shape(), attrs.dimensions) >= 0 && root.Is(op) && root.operand_count() == 2 &&
         root.operand(0).Is(Opcode::kParameter) && root.operand(1).Is(Opcode::kParameter) &&
         &root.operand(0) != &root.operand(1) && inst.operand(1).IsConstantOf(init);
}

int64_t RowOf(const Instruction& fold) {
  const Shape& shape = fold.operand(0).shape();
  return NumberOf(shape, Only(shape, fold.attrs<ReduceAttrs>().dimensions));
}

// The operand of a broadcast that adds only the dimension `row`, or null.
const Instruction* SpreadOver(const Instruction& inst, int64_t row) {
  const Instruction& spread = WithoutConverts(inst);
  if (!spread.Is(Opcode::kBroadcast)) return nullptr;
  Dims others, kept;
  for (int64_t number = 0; number < std::ssize(SizesOf(spread.shape())); ++number) {
    if (number != row) others.push_back(number);
  }
  for (const int64_t d : spread.dimensions()) {
    if (spread.shape().dim(d) != 1) kept.push_back(NumberOf(spread.shape(), d));
  }
  return kept == others ? &WithoutConverts(spread.operand(0)) : nullptr;
}

// The dimension along which an iota counts, also below broadcasts, or -1. `place` numbers the dimensions of `inst`.
int64_t CountsAlong(const Instruction& inst, const Dims& place) {
  if (inst.Is(Opcode::kIota)) return place[inst.attrs<IotaAttrs>().iota_dimension];
  if (!inst.Is(Opcode::kBroadcast)) return -1;
  Dims inner;
  for (const int64_t d : inst.dimensions()) inner.push_back(place[d]);
  return CountsAlong(inst.operand(0), inner);
}

struct Side {
  const Instruction* operand = nullptr;
  Dims batch, contracting, free;
  int64_t before = 0;  // Number of result dimensions before the operand's free dimensions.
};
Side SideOf(const Instruction& dot, int number) {
  const auto& attrs = dot.attrs<DotAttrs>();
  Side side{.operand = &dot.operand(number),
            .batch = number == 0 ? attrs.lhs_batch : attrs.rhs_batch,
            .contracting = number == 0 ? attrs.lhs_contracting : attrs.rhs_contracting};
  side.free = FreeDimensions(side.operand->shape().rank(), side.batch, side.contracting);
  side.before = number == 0 ? std::ssize(side.batch) : dot.shape().rank() - std::ssize(side.free);
  return side;
}

class Reader {
 public:
  explicit Reader(const Instruction& fusion) : fusion_(fusion) {}

  AttentionAnswer Read() {
    AttentionAnswer answer;
    if (ReadAll()) answer.problem = std::move(problem_);
    else answer.why_not = why_not_;
    return answer;
  }

 private:
  bool No(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
    return false;
  }

  bool ReadAll() {
    if (!IsFusion(fusion_)) return No("it is not a fusion");
    const Computation& fused = FusedComputation(fusion_);
    std::vector<const Instruction*> dots;
    for (const Instruction* inst : fused.PostOrder()) {
      if (inst->Is(Opcode::kDot)) dots.push_back(inst);
    }
    if (dots.size() != 2) return No("it does not have exactly two products");
    scores_ = dots[0];
    product_ = dots[1];
    return ReadSoftmax() && ReadScores() && ReadDimensions() && ReadOperands() && ReadResult(fused);
  }

  bool ReadSoftmax() {
    for (int number : {0, 1}) {
      const Instruction& share = WithoutConverts(product_->operand(number));
      if (!share.Is(Opcode::kDivide)) continue;
      share_number_ = number;
      const Instruction& e = WithoutConverts(share.operand(0));
      if (!e.Is(Opcode::kExp)) return No("its second product does not read exponentials divided by their sum");
      const Instruction& less = WithoutConverts(e.operand(0));
      if (!less.Is(Opcode::kSubtract)) return No("it does not subtract the maximum from its scores");
      masked_ = &WithoutConverts(less.operand(0));
      const Instruction& spread = WithoutConverts(less.operand(1));
      const Instruction* const most = spread.Is(Opcode::kBroadcast) ? &WithoutConverts(spread.operand(0)) : nullptr;
      if (most == nullptr || !IsFold(*most, Opcode::kMaximum, -std::numeric_limits<double>::infinity()))
        return No("the value subtracted from its scores is not their maximum");
      row_ = RowOf(*most);
      const Instruction* const total = SpreadOver(share.operand(1), row_);
      if (SpreadOver(less.operand(1), row_) != most || total == nullptr || !IsFold(*total, Opcode::kAdd, 0) ||
          RowOf(*total) != row_ || row_ < 0)
        return No("its maximum and its sum are not over the same keys");
      if (!IsSame(WithoutConverts(most->operand(0)), *masked_) || !IsSame(WithoutConverts(total->operand(0)), e))
        return No("its maximum or its sum is not of the scores of its softmax");
      return true;
    }
    return No("its second product does not read a softmax");
  }

  bool ReadScores() {
    const Instruction* at = masked_;
    if (at->Is(Opcode::kSelect) && !ReadMask(&at)) return false;
    if (at->Is(Opcode::kAdd)) {
      const int number = DependsOn(at->operand(0), *scores_) ? 0 : 1;
      bias_ = &WithoutConverts(at->operand(1 - number));
      at = &WithoutConverts(at->operand(number));
    }
    while (at->Is(Opcode::kMultiply) || at->Is(Opcode::kDivide)) {
      const int number = at->Is(Opcode::kDivide) || DependsOn(at->operand(0), *scores_) ? 0 : 1;
      const auto factor = ReadView(WithoutConverts(at->operand(1 - number)));
      if (!factor || factor->operand >= 0 || factor->constant == 0)
        return No("its scores are scaled by a value that is not a constant");
      problem_.scale *= at->Is(Opcode::kDivide) ? 1 / factor->constant : factor->constant;
      at = &WithoutConverts(at->operand(number));
    }
    return at == scores_ || No(Str("'", ToString(at->opcode()), "' is between its scores and their softmax"));
  }

  bool ReadMask(const Instruction** at) {
    const Instruction& select = **at;
    const int kept = DependsOn(select.operand(1), *scores_) ? 1 : 2;
    const auto other = ReadView(WithoutConverts(select.operand(3 - kept)));
    const Instruction* keeps = &select.operand(0);
    Dims place(select.shape().rank());
    for (int64_t d = 0; d < std::ssize(place); ++d) place[d] = NumberOf(select.shape(), d);
    while (keeps->Is(Opcode::kBroadcast)) {
      Dims inner;
      for (const int64_t d : keeps->dimensions()) inner.push_back(place[d]);
      place = inner;
      keeps = &keeps->operand(0);
    }
    if (!other || other->operand >= 0 || !keeps->Is(Opcode::kCompare)) return No("its mask does not compare positions");
    int64_t first = CountsAlong(keeps->operand(0), place), second = CountsAlong(keeps->operand(1), place);
    ComparisonDirection direction = keeps->attrs<CompareAttrs>().direction;
    using enum ComparisonDirection;
    // Brings the comparison into the form `key direction query`, true for the scores that the mask keeps.
    const auto turned = [](ComparisonDirection d) {
      return d == kGe ? kLe : d == kLe ? kGe : d == kGt ? kLt : d == kLt ? kGt : d;
    };
    const auto inverse = [](ComparisonDirection d) {
      return d == kGe ? kLt : d == kLe ? kGt : d == kGt ? kLe : d == kLt ? kGe : d;
    };
    if (second == row_) std::swap(first, second), direction = turned(direction);
    if (kept == 2) direction = inverse(direction);
    if (first != row_ || second < 0 || direction != kLe)
      return No("its mask is not the causal mask, which hides the keys after a query");
    query_dim_ = second;
    problem_.masked = other->constant;
    *at = &WithoutConverts(select.operand(kept));
    return true;
  }

  // Reads the scores' batch, heads of keys, groups of heads, queries and keys.
  bool ReadDimensions() {
    const Shape& shape = scores_->shape();
    row_ = DimOf(shape, row_);
    query_dim_ = DimOf(shape, query_dim_);
    for (const int number : {0, 1}) {
      const Side side = SideOf(*scores_, number);
      const int64_t only = Only(side.operand->shape(), side.free);
      if (only >= 0 && side.before + (std::ranges::find(side.free, only) - side.free.begin()) == row_)
        key_number_ = number;
    }
    if (key_number_ < 0) return No("its keys are not one dimension of the scores");
    const Side query = SideOf(*scores_, 1 - key_number_);
    Dims batch, free;  // Dimensions larger than 1.
    for (int64_t d = 0; d < std::ssize(query.batch); ++d) {
      if (SizeOf(d) != 1) batch.push_back(d);
    }
    for (int64_t d = query.before; d < query.before + std::ssize(query.free); ++d) {
      if (SizeOf(d) != 1) free.push_back(d);
    }
    if (batch.size() > 2 || free.size() > 2)
      return No(Str("its queries have ", batch.size(), " dimensions in common with the keys and ", free.size(),
                    " of their own"));
    if (query_dim_ < 0 && !free.empty()) query_dim_ = free.back();
    if (query_dim_ >= 0 && !Contains(free, query_dim_))
      return No("its mask does not depend on the position of the query");
    batch_dim_ = batch.size() == 2 ? batch.front() : -1;
    head_dim_ = batch.empty() ? -1 : batch.back();
    if (free.size() == 2) group_dim_ = query_dim_ == free.front() ? free.back() : free.front();
    return true;
  }

  int64_t SizeOf(int64_t dim) const { return dim < 0 ? 1 : scores_->shape().dim(dim); }

  // `stride_of` gives the stride of a dimension of the scores. `third` and `last` are pairs of size and stride.
  template <class StrideOf>
  bool Tensor(AttentionTensor* tensor, const StrideOf& stride_of, bool has_groups, std::pair<int64_t, int64_t> third,
              std::pair<int64_t, int64_t> last, const char* what) {
    const auto stride = [&](int64_t dim) -> int64_t { return SizeOf(dim) == 1 ? 0 : stride_of(dim); };
    int64_t heads = SizeOf(head_dim_), head_stride = stride(head_dim_);
    if (has_groups && SizeOf(group_dim_) > 1) {
      if (heads > 1 && head_stride != stride(group_dim_) * SizeOf(group_dim_))
        return No(Str("the heads of its ", what, " are not evenly spaced in memory"));
      head_stride = stride(group_dim_);
      heads *= SizeOf(group_dim_);
    }
    tensor->dims = {SizeOf(batch_dim_), heads, third.first, last.first};
    tensor->strides = {stride(batch_dim_), head_stride, third.second, last.second};
    for (size_t d = 0; d < 4; ++d) {
      if (tensor->dims[d] == 1) tensor->strides[d] = 0;
    }
    return true;
  }

  bool Operand(AttentionTensor* tensor, const Side& side, const Dims& batch_places, bool is_query, const char* what) {
    const auto view = ReadView(*side.operand);
    if (!view || view->operand < 0) return No(Str("its ", what, " is computed in the fusion"));
    tensor->operand = view->operand;
    tensor->type = view->type;
    const auto stride_of = [&](int64_t dim) -> int64_t {
      const auto at = std::ranges::find(batch_places, dim);
      if (at != batch_places.end()) return view->strides[side.batch[at - batch_places.begin()]];
      return view->strides[side.free[dim - side.before]];
    };
    const auto of = [&](int64_t d) {
      return d < 0 ? std::pair<int64_t, int64_t>(1, 0) : std::pair(view->dims[d], view->strides[d]);
    };
    const int64_t summed = Only(side.operand->shape(), side.contracting), own = Only(side.operand->shape(), side.free);
    if (summed < 0) return No(Str("its ", what, " is summed over several dimensions"));
    if (is_query)
      return Tensor(tensor, stride_of, true, of(query_dim_ < 0 ? -1 : side.free[query_dim_ - side.before]), of(summed),
                    what);
    if (own < 0) return No(Str("its ", what, " has several dimensions of its own"));
    // In keys, the row is free and the terms are contracted. In values, the row is contracted.
    const bool is_key = what == std::string_view("key");
    return Tensor(tensor, stride_of, false, of(is_key ? own : summed), of(is_key ? summed : own), what);
  }

  int64_t InScores(const Shape& shape, int64_t dim) const { return DimOf(scores_->shape(), NumberOf(shape, dim)); }
  int64_t FromScores(const Shape& shape, int64_t dim) const {
    return dim < 0 ? -1 : DimOf(shape, NumberOf(scores_->shape(), dim));
  }

  bool ReadOperands() {
    const Side query = SideOf(*scores_, 1 - key_number_), key = SideOf(*scores_, key_number_);
    Dims batch_places(query.batch.size());
    for (int64_t d = 0; d < std::ssize(batch_places); ++d) batch_places[d] = d;
    if (!Operand(&problem_.query, query, batch_places, true, "query")) return false;
    if (!Operand(&problem_.key, key, batch_places, false, "key")) return false;
    const Side share = SideOf(*product_, share_number_), value = SideOf(*product_, 1 - share_number_);
    const Shape& shares = share.operand->shape();
    const int64_t summed = Only(shares, share.contracting);
    Dims places, larger;
    for (const int64_t d : share.batch) {
      places.push_back(InScores(shares, d));
      if (places.back() >= 0) larger.push_back(places.back());
    }
    std::ranges::sort(larger);
    Dims common;
    for (const int64_t d : {batch_dim_, head_dim_}) {
      if (d >= 0) common.push_back(d);
    }
    if (SizesOf(shares) != SizesOf(scores_->shape()) || summed < 0 || InScores(shares, summed) != row_ ||
        larger != common)
      return No("the dimensions of its second product do not match those of its scores");
    if (!Operand(&problem_.value, value, places, false, "value")) return false;
    if (bias_ != nullptr && !ReadBias()) return false;
    return true;
  }

  bool ReadBias() {
    const auto view = ReadView(*bias_, /*rounded=*/true);
    if (!view || view->operand < 0) return No("its bias is computed in the fusion");
    AttentionTensor bias{.operand = view->operand, .type = view->type};
    const auto stride_of = [&](int64_t dim) { return view->strides[FromScores(bias_->shape(), dim)]; };
    const auto of = [&](int64_t d) {
      return d < 0 ? std::pair<int64_t, int64_t>(1, 0) : std::pair(SizeOf(d), stride_of(d));
    };
    if (SizesOf(bias_->shape()) != SizesOf(scores_->shape()))
      return No("its bias has other dimensions than its scores");
    if (!Tensor(&bias, stride_of, true, of(query_dim_), of(row_), "bias")) return false;
    for (size_t d = 0; d < 4; ++d) {
      if (bias.strides[d] == 0) bias.dims[d] = 1;
    }
    problem_.bias = std::move(bias);
    return true;
  }

  // False if operations after the second product do more than move or round.
  bool ReadResult(const Computation& fused) {
    const Shape& shape = product_->shape();
    Dims strides = LayoutStrides(shape), order(shape.rank());
    for (int64_t d = 0; d < std::ssize(order); ++d) order[d] = d;
    std::vector<const Instruction*> way;
    for (const Instruction* at = &fused.root(); at != product_; at = &at->operand(0)) {
      const bool moves = at->Is(Opcode::kConvert) || at->Is(Opcode::kTranspose) || at->Is(Opcode::kCopy) ||
                         at->Is(Opcode::kBitcast) || at->Is(Opcode::kReshape);
      if (!moves) return No("it computes more after its second product");
      way.push_back(at);
    }
    // After a bitcast or reshape, only the order of the bytes is known.
    bool is_order_known = true;
    for (size_t i = way.size(); i-- > 0;) {
      const Instruction& inst = *way[i];
      if (inst.Is(Opcode::kConvert) && !is_order_known) return No("its result is rounded after a reshape");
      if (inst.Is(Opcode::kTranspose) || inst.Is(Opcode::kCopy)) {
        if (!is_order_known) return No("its result is moved after a reshape");
        Dims moved;
        for (int64_t d = 0; d < std::ssize(order); ++d)
          moved.push_back(inst.Is(Opcode::kTranspose) ? order[inst.dimensions()[d]] : order[d]);
        order = moved;
      }
      if (inst.Is(Opcode::kReshape) && !(inst.shape().HasDefaultLayout() && inst.operand(0).shape().HasDefaultLayout()))
        return No("its result is reshaped in a layout that is not row-major");
      const Dims lies = LayoutStrides(inst.shape());
      if (inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kReshape)) is_order_known = false;
      for (size_t d = 0; is_order_known && d < order.size(); ++d) strides[order[d]] = lies[d];
    }
    const Side share = SideOf(*product_, share_number_), value = SideOf(*product_, 1 - share_number_);
    problem_.result.type = fused.root().shape().type();
    const auto place = [&](int64_t dim) -> int64_t {
      const int64_t d = FromScores(share.operand->shape(), dim);
      const auto at = std::ranges::find(share.batch, d);
      if (at != share.batch.end()) return at - share.batch.begin();
      return share.before + (std::ranges::find(share.free, d) - share.free.begin());
    };
    const auto stride_of = [&](int64_t dim) { return strides[place(dim)]; };
    const auto of = [&](int64_t d) {
      return d < 0 ? std::pair<int64_t, int64_t>(1, 0) : std::pair(shape.dim(d), strides[d]);
    };
    const int64_t column = Only(value.operand->shape(), value.free);
    const int64_t column_place = value.before + (std::ranges::find(value.free, column) - value.free.begin());
    return Tensor(&problem_.result, stride_of, true, of(query_dim_ < 0 ? -1 : place(query_dim_)), of(column_place),
                  "result");
  }

  const Instruction& fusion_;
  AttentionProblem problem_;
  std::string why_not_;
  const Instruction *scores_ = nullptr, *product_ = nullptr;
  const Instruction *masked_ = nullptr, *bias_ = nullptr;
  int share_number_ = -1, key_number_ = -1;
  // Dimensions in the scores, or -1.
  int64_t row_ = -1, query_dim_ = -1, batch_dim_ = -1, head_dim_ = -1, group_dim_ = -1;
};

}  // namespace

bool DependsOn(const Instruction& inst, const Instruction& other) {
  std::vector<const Instruction*> pending = {&inst};
  std::set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* const at = pending.back();
    pending.pop_back();
    if (at == &other) return true;
    if (seen.insert(at).second) pending.insert(pending.end(), at->operands().begin(), at->operands().end());
  }
  return false;
}

AttentionAnswer ReadAttention(const Instruction& fusion) { return Reader(fusion).Read(); }

}  // namespace hlo::gpu
