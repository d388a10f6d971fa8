// A block computes lines with the same keys and values. Its shared memory contains:
//
//   query     [lines][terms]
//   scores    [lines][keys]      the first product, for some keys at a time. Then a warp for each line runs the
//                                passes over its row (row_passes.h). One pass stores the shares
//   panel     [keys][...]        some of the keys, and later some of the values
//   sums      [lines][columns]   the second product
//
// Each product rounds to its declared type, as a separate kernel would.
#include "gpu/plan/attention_space.h"

#include "base/text.h"
#include "gpu/emitters/block_product.h"
#include "gpu/emitters/row_passes.h"
#include "gpu/emitters/scalar.h"
#include "gpu/kernel/mma.h"
#include "gpu/plan/contraction_space.h"

namespace hlo::gpu {
namespace {

using kernel::MmaShape;

class ScorePasses : public RowPasses {
 public:
  ScorePasses(AttentionSpace& space, KernelFrame& frame, const KernelPlan& plan)
      : RowPasses(space, frame, plan, /*by_warp=*/true, 32 * plan.vector), space_(space), emission_(frame.emission()) {}

  void SetRow(const Array& scores, const Array& shares, Value at) {
    scores_ = scores;
    shares_ = shares;
    at_ = at;
  }

 private:
  void BindElement(Value element) override {
    const Value score = scores_.Load(at_ + element);
    for (const NodeId given : space_.scores_given) emission_.Bind(given, {score});
  }
  void StoreElement(int pass, Value element) override {
    if (pass == space_.share_pass) shares_.Store(at_ + element, Convert(emission_.Emit(space_.share), shares_.type()));
  }

  AttentionSpace& space_;
  Emission& emission_;
  Array scores_, shares_;
  Value at_;
};

class AttentionKernel {
 public:
  AttentionKernel(AttentionSpace& space, const EmitRequest& request)
      : space_(space),
        tiles_(TilesOf(space, request.plan)),
        line_count_(space.line_count()),
        line_tiles_(CeilDiv(line_count_, tiles_.lines)),
        row_(space.minor().size),
        frame_(space.graph, space.Needed(), {space.group_count() * line_tiles_, static_cast<int>(request.plan.threads)},
               request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        passes_(space, frame_, request.plan) {
    k_.CountsTo(space.Size());
    if (tiles_.by_matrix_units) shape_ = tiles_.operand == Type::kBF16 ? MmaShape::kBF16 : MmaShape::kF16;
    for (const auto& output : space.results) outputs_.push_back(frame_.Output(*output.root));
  }

  EmittedKernel Emit() && {
    const int64_t rows = tiles_.lines * tiles_.pitch;
    query_ = k_.Shared("query", tiles_.operand, tiles_.lines * tiles_.term_pitch);
    panel_ = k_.Shared("panel", tiles_.operand, tiles_.panel);
    scores_ = k_.Shared("scores", tiles_.scores, rows);
    shares_ = tiles_.rows_are_one() ? scores_ : k_.Shared("shares", tiles_.shares, rows);
    sums_ = k_.Shared("sums", Type::kF32, tiles_.lines * tiles_.columns);
    BindParts(space_.groups, k_.block() / line_tiles_);
    line0_ = k_.block() % line_tiles_ * tiles_.lines;
    MakeScores();
    MakeShares();
    MakeResults();
    StoreResults();
    return Finish();
  }

 private:
  void BindParts(const std::vector<RowsSpace::Variable>& variables, Value linear) {
    for (size_t i = variables.size(); i-- > 0;) {
      emission_.Bind(variables[i].e, i == 0 ? linear : linear % variables[i].size);
      if (i > 0) linear = linear / variables[i].size;
    }
  }

  FillAxis Lines(int64_t pitch) {
    return {.bind = [this](Value line) { BindParts(space_.lines, line); },
            .size = line_count_,
            .from = line0_,
            .steps = tiles_.lines,
            .pitch = pitch};
  }
  FillAxis Along(const RowsSpace::Variable& variable, Value from, int64_t steps, int64_t pitch, bool is_term) {
    return {.bind = [this, e = variable.e](Value value) { emission_.Bind(e, value); },
            .size = variable.size,
            .from = from,
            .steps = steps,
            .pitch = pitch,
            .counted = is_term ? std::optional(variable.size) : std::nullopt};
  }

  // Lanes run along the dimension that is contiguous in memory.
  void FillPanel(NodeId node, const Instruction& dot, Value key0, int64_t keys, TilePitches pitches,
                 const RowsSpace::Variable& other, int64_t other_steps, bool is_first) {
    const FillAxis along_keys =
        Along(space_.minor(), key0, keys, is_first ? pitches.line : pitches.term, /*is_term=*/!is_first);
    const FillAxis along_other =
        Along(other, k_.Index(0), other_steps, is_first ? pitches.term : pitches.line, /*is_term=*/is_first);
    const Type declared = KernelTypeOf(dot.shape().type());
    if (space_.RunsAlong(node, space_.minor()))
      FillTile(k_, emission_, panel_, node, declared, {}, along_other, along_keys, space_.minor().e);
    else FillTile(k_, emission_, panel_, node, declared, {}, along_keys, along_other, other.e);
  }

  void MakeScores() {
    const Type declared = KernelTypeOf(space_.scores->shape().type());
    FillTile(k_, emission_, query_, space_.query, declared, {}, Lines(tiles_.term_pitch),
             Along(space_.term, k_.Index(0), tiles_.terms, 1, /*is_term=*/true), space_.term.e);
    const auto product = MakeBlockProduct(k_, tiles_.lines, tiles_.keys, shape_);
    const TilePitches pitches =
        tiles_.by_matrix_units ? TilePitches{tiles_.term_pitch, 1} : TilePitches{1, tiles_.keys};
    const int64_t terms = tiles_.by_matrix_units
                              ? CeilDiv(space_.term.size, kernel::InfoOf(*shape_).terms) * kernel::InfoOf(*shape_).terms
                              : space_.term.size;
    k_.Loop(int64_t{0}, row_, tiles_.keys, [&](Value key0) {
      FillPanel(space_.key, *space_.scores, key0, tiles_.keys, pitches, space_.term, tiles_.terms,
                /*is_first=*/true);
      product->Clear();
      product->Add({query_, k_.Index(0), tiles_.term_pitch}, panel_, pitches, terms);
      product->Store(scores_, key0, tiles_.pitch);
    });
  }

  // The second product takes several keys at a time, so shares (the weights of values) after the last key must be 0.
  void MakeShares() {
    const int64_t padded = CeilDiv(row_, tiles_.second_keys) * tiles_.second_keys;
    const auto clear = [&](Value at, int64_t from) {
      k_.Loop(from, padded, 32, [&](Value key0) {
        k_.Tile(1, k_.Index(padded) - key0,
                [&](Value i) { shares_.Store(at + key0 + i, k_.Constant(shares_.type(), 0.0)); });
      });
    };
    emission_.SetLane(space_.minor().e);
    k_.Warps([&] {
      k_.Loop(int64_t{0}, tiles_.lines, k_.warps(), [&](Value first) {
        const Value line = first + k_.warp(), at = line * tiles_.pitch;
        const auto make = [&] {
          const Emission::Scope scope(emission_);
          BindParts(space_.lines, line0_ + line);
          passes_.SetRow(scores_, shares_, at);
          passes_.Emit(at);
          if (padded > row_) clear(at, row_);
        };
        if (line_count_ % tiles_.lines == 0) make();
        else k_.If(line0_ + line < line_count_, make, [&] { clear(at, 0); });
      });
    });
  }

  void MakeResults() {
    const auto product = MakeBlockProduct(k_, tiles_.lines, tiles_.columns, shape_);
    const TilePitches pitches = {1, tiles_.column_pitch};
    product->Clear();
    k_.Loop(int64_t{0}, row_, tiles_.second_keys, [&](Value key0) {
      FillPanel(space_.value, *space_.product, key0, tiles_.second_keys, pitches, space_.column, tiles_.columns,
                /*is_first=*/false);
      product->Add({shares_, key0, tiles_.pitch}, panel_, pitches, tiles_.second_keys);
    });
    product->Store(sums_, k_.Index(0), tiles_.columns);
  }

  void StoreResults() {
    const Type declared = KernelTypeOf(space_.product->shape().type());
    emission_.SetLane(space_.column.e);
    k_.Warps([&] {
      k_.Loop(int64_t{0}, tiles_.lines, k_.warps(), [&](Value first) {
        const Value line = first + k_.warp();
        const auto store = [&] {
          const Emission::Scope scope(emission_);
          BindParts(space_.lines, line0_ + line);
          emission_.Hoist(space_.ResultValues());
          for (const auto& output : space_.results) emission_.Hoist(output.offset);
          TileOver(k_, static_cast<int>(std::max<int64_t>(1, tiles_.columns / 32)), space_.column.size, k_.Index(0),
                   tiles_.columns, [&](Value column) {
                     const Emission::Scope in_tile(emission_);
                     emission_.Bind(space_.column.e, column);
                     const Value sum = Convert(sums_.Load(line * tiles_.columns + column), declared);
                     for (const NodeId given : space_.product_given) emission_.Bind(given, {sum});
                     std::vector<Value> results;
                     for (const auto& output : space_.results) results.push_back(emission_.Emit(output.value));
                     for (size_t i = 0; i < results.size(); ++i)
                       outputs_[i].Store(emission_.Lower(space_.results[i].offset), results[i]);
                   });
        };
        if (line_count_ % tiles_.lines == 0) store();
        else k_.If(line0_ + line < line_count_, store);
      });
    });
  }

  EmittedKernel Finish() {
    EmittedKernel kernel =
        std::move(frame_).Finish(tiles_.by_matrix_units ? "attention, matrix units" : "attention, tiled");
    passes_.AddChains(kernel.precision);
    // Matrix units lose at most this many roundings for each term (mma.h).
    constexpr int64_t kLost = 3;
    const auto add = [&](const Instruction& dot, int64_t terms) {
      const PrimitiveType type = dot.shape().type();
      kernel.precision.instructions[dot.id()].sum =
          SumPlan{.accumulator = type == PrimitiveType::kF32 ? type : PrimitiveType::kF32,
                  .rounding = tiles_.by_matrix_units ? SumRounding::kTruncate : SumRounding::kNearest,
                  .longest_chain = tiles_.by_matrix_units ? kLost * terms : terms};
    };
    add(*space_.scores, space_.term.size);
    add(*space_.product, row_);
    return kernel;
  }

  AttentionSpace& space_;
  const AttentionTiles tiles_;
  const int64_t line_count_, line_tiles_, row_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ScorePasses passes_;
  std::optional<MmaShape> shape_;
  std::vector<Array> outputs_;
  Array query_, panel_, scores_, shares_, sums_;
  Value line0_;
};

}  // namespace

Result<EmittedKernel> EmitAttention(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  TRY(request.Heroes());
  const std::vector<const Instruction*> dots = AttentionDots(request.body);
  TRY(request.Require(!dots.empty(), "it does not have two products with reductions of rows between them"));
  TRY(request.RequireBlock(2));
  std::string why_not;
  const auto space = TRY(AttentionSpaceOf(request.body, dots, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  const bool by_units = plan.algorithm == kMatrixUnits;
  const int64_t warps = plan.threads / 32, row = space->minor().size;
  TRY(request.Require(by_units || plan.algorithm.empty(),
                      Str("no product kernel has the algorithm '", plan.algorithm, "'")));
  TRY(request.Require(!by_units || FitsMatrixUnits(*space), "matrix units take two operands of bf16 or f16"));
  TRY(request.Require(plan.tile[0] % (by_units ? 16 : warps) == 0 && plan.tile[0] >= 1 && plan.tile[0] <= 128,
                      "the lines of its tile must be at most 128, and a multiple of 16 with matrix units, otherwise of "
                      "the number of warps"));
  TRY(request.Require(
      by_units ? plan.tile[1] == 16 * warps : plan.tile[1] == 32 || plan.tile[1] == 64 || plan.tile[1] == 128,
      "the keys of its tile must be 16 for each warp with matrix units, otherwise 32, 64 or 128"));
  TRY(request.Require(plan.vector <= 4 && row % plan.vector == 0,
                      Str("vector, ", plan.vector, ", must divide rows of ", row, " elements and be at most 4")));
  TRY(request.Require(plan.unroll == 1 && plan.kept.empty(), "it takes neither unroll nor kept values"));
  TRY(request.Require(space->term.size <= 256 && space->column.size <= 256,
                      "a query, key or value must have at most 256 elements"));
  return AttentionKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
