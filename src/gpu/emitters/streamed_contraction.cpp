// The emitter of products of few rows for hosts: dot with an elementwise epilogue, or a convolution without a window.
// The kernel is as fast as memory: it reads rhs once, in its own type and memory order, several lines at a time. The
// block's sums stay in the first-level cache.
#include <array>

#include "base/text.h"
#include "gpu/emitters/product.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kStreams = 8;

class StreamedProduct {
 public:
  StreamedProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request)
      : space_(space),
        declared_(KernelTypeOf(hero.shape().type())),
        type_(SumTypeOf(hero)),
        tile_columns_(request.plan.tile[1]),
        panel_(request.plan.tile[2]),
        width_(static_cast<int>(request.plan.vector)),
        terms_(space.term().size),
        frame_(space.graph, space.Needed(), LaunchOf(space, ProductAxes(space), request.plan), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        results_(space, hero, frame_) {}

  EmittedKernel Emit() && {
    const int64_t column_tiles = CeilDiv(space_.column().size, tile_columns_);
    column0_ = k_.block() % column_tiles * tile_columns_;
    emission_.Bind(space_.group().e, k_.block() / column_tiles);
    panel_array_ = k_.Shared("lhs", type_, space_.row().size * panel_);
    const Value zero = kernel::IsFloat(type_) ? k_.Constant(type_, 0.0) : k_.Constant(type_, int64_t{0});
    for (int64_t r = 0; r < space_.row().size; ++r) {
      sums_.push_back(k_.MakeSlot(type_, width_));
      k_.Fill(sums_.back(), zero);
    }
    k_.Loop(int64_t{0}, terms_, panel_, [&](Value term0) {
      const Value terms = terms_ % panel_ == 0 ? k_.Index(panel_) : Min(k_.Index(panel_), k_.Index(terms_) - term0);
      Keep(term0, terms);
      const Value whole = terms / kStreams * kStreams;
      k_.Loop(k_.Index(0), whole, kStreams, [&](Value t) { Multiply(term0, t, kStreams); });
      k_.Loop(whole, terms, 1, [&](Value t) { Multiply(term0, t, 1); });
    });
    emission_.SetLane(space_.column().e);
    for (int64_t r = 0; r < space_.row().size; ++r) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.row().e, k_.Index(r));
      results_.StoreRow(sums_[r], column0_, tile_columns_);
    }
    return std::move(results_).Finish("product, streamed", type_, space_.Size(Role::kReduced));
  }

 private:
  Value Converted(NodeId node) { return Convert(Convert(emission_.Emit(node), declared_), type_); }

  void Keep(Value term0, Value terms) {
    emission_.SetLane(space_.term().e);
    const int64_t step = int64_t{k_.threads()} * width_;
    for (int64_t r = 0; r < space_.row().size; ++r) {
      k_.Loop(k_.Index(0), terms, step, [&](Value begin) {
        Emission::Scope scope(emission_);
        emission_.Bind(space_.row().e, k_.Index(r));
        k_.Tile(width_, terms - begin, [&](Value j) {
          Emission::Scope in_tile(emission_);
          emission_.Bind(space_.term().e, term0 + begin + j);
          panel_array_.Store(begin + j + r * panel_, Converted(space_.lhs));
        });
      });
    }
  }

  void Multiply(Value term0, Value t, int64_t streams) {
    emission_.SetLane(space_.column().e);
    std::vector<Value> factors;  // [row][stream]
    for (int64_t r = 0; r < space_.row().size; ++r) {
      for (int64_t s = 0; s < streams; ++s) factors.push_back(panel_array_.Load(t + (s + r * panel_)));
    }
    std::vector<Emission::ScopeData> lines;
    const NodeId nodes[] = {space_.rhs};
    for (int64_t s = 0; s < streams; ++s) {
      emission_.Enter();
      emission_.Bind(space_.term().e, term0 + (t + s));
      emission_.Hoist(nodes);
      lines.push_back(emission_.Leave());
    }
    TileOver(k_, width_, space_.column().size, column0_, tile_columns_, [&](Value j) {
      std::vector<Value> sums;
      for (const Slot& sum : sums_) sums.push_back(sum.Get());
      for (int64_t s = 0; s < streams; ++s) {
        emission_.Enter(lines[s]);
        Value b;
        {
          Emission::Scope in_tile(emission_);
          emission_.Bind(space_.column().e, column0_ + j);
          b = Converted(space_.rhs);
        }
        emission_.Leave();
        for (size_t r = 0; r < sums.size(); ++r) {
          const Value a = factors[r * streams + s];
          sums[r] = kernel::IsFloat(type_) ? Fma(a, b, sums[r]) : sums[r] + a * b;
        }
      }
      for (size_t r = 0; r < sums.size(); ++r) sums_[r].Set(sums[r]);
    });
  }

  ContractionSpace& space_;
  const Type declared_, type_;
  const int64_t tile_columns_, panel_;
  const int width_;
  const int64_t terms_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ProductResults results_;
  Array panel_array_;
  Value column0_;
  std::vector<Slot> sums_;
};

}  // namespace

Result<EmittedKernel> EmitStreamedContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& hero = *TRY(ProductOf(request));
  const auto space = TRY(ProductSpaceOf(request, hero));
  space->PutNeighboursIntoColumns();
  TRY(request.Require(space->position().size == 1 && space->lhs_conditions.empty() && space->rhs_conditions.empty(),
                      "a convolution with a window cannot be streamed"));
  TRY(request.Require(
      plan.tile[0] == space->row().size && plan.tile[0] <= 16 && plan.tile[1] == plan.threads * plan.vector &&
          plan.vector <= 16 && plan.stages == 1,
      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must have all ", space->row().size,
          " rows (16 at most), ", plan.threads * plan.vector, " columns and one stage")));
  return StreamedProduct(*space, hero, request).Emit();
}

}  // namespace hlo::gpu
