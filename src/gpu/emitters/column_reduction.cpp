// The emitter of reductions over major dimensions (columns). A thread folds neighbouring columns row by row. Groups of
// warps have different rows of a narrow strip.
#include <algorithm>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/reduction_body.h"

namespace hlo::gpu {
namespace {

// A strip of neighbouring columns has one or several blocks. As many warps as a strip needs form a group. Groups fold
// different rows.
class ColumnKernel {
 public:
  ColumnKernel(ReductionSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        width_(static_cast<int>(plan_.vector)),
        groups_(plan_.tile[0]),
        group_warps_(plan_.threads / 32 / groups_),
        columns_(space.minor().size),
        outer_(space.Size(Role::kKept) / columns_),
        terms_(space.Size(Role::kReduced)),
        strip_(std::min(columns_, plan_.tile[1])),
        strips_(CeilDiv(columns_, strip_)),
        splits_(plan_.splits),
        unroll_(plan_.unroll),
        // Rows of a split, a multiple of the rows loaded together.
        share_(CeilDiv(CeilDiv(terms_, splits_), unroll_ * groups_) * unroll_ * groups_),
        frame_(space.graph, space.Needed(), LaunchOf(space, ReductionAxes(space), plan_), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        lane_(space.minor().e),
        body_(space, frame_, false) {
    k_.CountsTo(space.Size());
    emission_.SetLane(lane_);
  }

  EmittedKernel Emit() && {
    const std::vector<Type> types = body_.AccumulatorTypes();
    Partials partials;
    if (splits_ > 1) partials = MakePartials(frame_, types, outer_ * columns_ * splits_, outer_ * strips_);
    Emission::Scope scope(emission_);
    const Value group = splits_ == 1 ? k_.block() : k_.block() / splits_;
    const Value split = splits_ == 1 ? k_.Index(0) : k_.block() % splits_;
    const Value batch = strips_ == 1 ? group : group / strips_;
    begin_ = strips_ == 1 ? k_.Index(0) : group % strips_ * strip_;
    BindAll(space_, emission_, Role::kKept, batch);
    const Value first = splits_ == 1 ? k_.Index(0) : split * share_;
    last_ = splits_ == 1 ? k_.Index(terms_) : Min(first + share_, k_.Index(terms_));
    body_.HoistInputs();
    const std::vector<Slot> slots = body_.MakeSlots(width_);
    for (size_t j = 0; groups_ > 1 && j < types.size(); ++j)
      of_groups_.push_back(k_.Shared(Str("sums", j), types[j], groups_ * strip_));
    ByGroup(slots, [&](Value row, Value column) { Walk(slots, first + row, column); });
    if (splits_ == 1) Finish(slots);
    else EmitLast(slots, partials, batch, split, group);
    const std::string blocks = splits_ == 1 ? "a block" : Str(splits_, " blocks");
    const std::string how = Str("column reduction, ", blocks, " for each strip");
    const auto grouped = [&](int64_t terms) { return groups_ == 1 ? terms : CeilDiv(terms, groups_) + groups_; };
    const int64_t chain = grouped(share_) + (splits_ > 1 ? grouped(splits_) : 0) + 1;
    return WithChain(std::move(frame_).Finish(how), space_, chain);
  }

 private:
  // BlockTile covers the strip with the block. Tile covers a warp's part, from `column` on.
  void BlockTile(const KernelBuilder::IndexBody& in_tile) {
    if (groups_ == 1) return TileOver(k_, width_, columns_, begin_, plan_.tile[1], in_tile);
    k_.Tile(width_, strips_ == 1 ? k_.Index(strip_) : Min(k_.Index(strip_), k_.Index(columns_) - begin_), in_tile);
  }
  void Tile(Value column, const KernelBuilder::IndexBody& in_tile) {
    if (groups_ == 1) return BlockTile(in_tile);
    const auto at = [&](Value i) { in_tile(column + i); };
    if (columns_ % plan_.tile[1] == 0) return k_.Tile(width_, at);
    k_.Tile(width_, Max(k_.Index(columns_) - (begin_ + column), k_.Index(0)), at);
  }

  void Walk(const std::vector<Slot>& slots, Value from, Value column) {
    k_.Loop(
        from, last_, groups_ * unroll_,
        [&](Value term) {
          std::vector<Emission::ScopeData> scopes;
          for (int64_t u = 0; u < unroll_; ++u) {
            emission_.Enter();
            BindAll(space_, emission_, Role::kReduced, term + u * groups_);
            body_.HoistInputs();
            scopes.push_back(emission_.Leave());
          }
          const Value is_first = body_.counts() ? term == from : Value();
          Tile(column, [&](Value i) {
            body_.Accumulate(slots, scopes, [&](size_t) { emission_.Bind(lane_, begin_ + i); }, is_first);
          });
        },
        unroll_ == 1 ? 4 : 1);
  }

  void ByGroup(const std::vector<Slot>& slots, const std::function<void(Value row, Value column)>& walk) {
    if (groups_ == 1) return walk(k_.Index(0), k_.Index(0));
    k_.Warps([&] {
      Emission::Scope inner(emission_);
      const Value group = group_warps_ == 1 ? k_.warp() : k_.warp() / group_warps_;
      const Value column = group_warps_ == 1 ? k_.Index(0) : k_.warp() % group_warps_ * (plan_.tile[1] / group_warps_);
      walk(group, column);
      Tile(column, [&](Value i) {
        for (size_t j = 0; j < slots.size(); ++j) of_groups_[j].Store(group * strip_ + i, slots[j].Get());
      });
    });
    BlockTile([&](Value i) {
      std::vector<Value> sums;
      for (const Array& sum : of_groups_) sums.push_back(sum.Load(i));
      for (int64_t group = 1; group < groups_; ++group) {
        std::vector<Value> more;
        for (const Array& sum : of_groups_) more.push_back(sum.Load(i + group * strip_));
        sums = body_.Combine(sums, more);
      }
      for (size_t j = 0; j < slots.size(); ++j) slots[j].Set(sums[j]);
    });
  }

  void Finish(const std::vector<Slot>& sums) {
    body_.HoistEpilogues();
    BlockTile([&](Value i) {
      Emission::Scope in_tile(emission_);
      emission_.Bind(lane_, begin_ + i);
      std::vector<Value> totals;
      for (const Slot& sum : sums) totals.push_back(sum.Get());
      body_.Finish(totals);
    });
  }

  // Partial results are [batch][split][column].
  void EmitLast(const std::vector<Slot>& slots, const Partials& partials, Value batch, Value split, Value group) {
    const Value mine = (batch * splits_ + split) * columns_ + begin_;
    BlockTile([&](Value i) {
      for (size_t j = 0; j < slots.size(); ++j) partials.values[j].Store(mine + i, slots[j].Get());
    });
    k_.If(k_.ArriveLast(partials.counters, group, splits_), [&] {
      Emission::Scope final_scope(emission_);
      const std::vector<Slot> sums = body_.MakeSlots(width_);
      ByGroup(sums, [&](Value row, Value column) {
        k_.Loop(
            row, k_.Index(splits_), groups_,
            [&](Value part) {
              const Value from = (batch * splits_ + part) * columns_ + begin_;
              Tile(column, [&](Value i) { body_.AddPartial(sums, partials.values, [&] { return from + i; }); });
            },
            4);
      });
      Finish(sums);
    });
  }

  ReductionSpace& space_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t groups_, group_warps_, columns_, outer_, terms_, strip_, strips_, splits_, unroll_, share_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  const IndexExpr lane_;
  ReductionBody body_;
  std::vector<Array> of_groups_;
  Value begin_, last_;
};

}  // namespace

Result<EmittedKernel> EmitColumnReduction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const auto space = TRY(SpaceFor(request, /*minor_role=*/Role::kKept));
  const int64_t terms = StepsOf(*space, plan);
  TRY(request.Require(plan.unroll == 1 || terms % (plan.unroll * plan.tile[0]) == 0,
                      Str(terms, " terms cannot be unrolled by ", plan.unroll)));
  TRY(request.Require(plan.splits <= terms, Str(terms, " terms cannot be split over ", plan.splits, " blocks")));
  return ColumnKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
