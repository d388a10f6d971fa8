// The emitter of products for hosts: dot and convolution with an elementwise epilogue. A block packs a converted panel
// of each operand into a shared array, which fits into the second-level cache. Sums of a few rows and vectors stay in
// registers (host/threads.cpp, EmitInRegisters). Integers of 8 bits are multiplied as pairs of neighbouring terms, or
// as floats.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/product.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

// Transposed tiles and vectors end at multiples of this on any host.
constexpr int64_t kWhole = 16;

// Bits of an operand's magnitude if it was converted from integers of at most 8 bits, else 24.
int MagnitudeBits(const Instruction& operand) {
  for (const Instruction* inst = &operand;; inst = &inst->operand(0)) {
    const PrimitiveType type = inst->shape().type();
    if (IsInteger(type) && BitWidth(type) <= 8) return BitWidth(type) - IsSigned(type);
    const bool keeps = inst->operand_count() == 1 && (inst->Is(kMoves) || inst->Is(Opcode::kConvert));
    if (!keeps || !IsSigned(type)) return 24;
  }
}

// Whether pairs of neighbouring terms are multiplied as 16-bit integers with 32-bit sums.
bool AreMultipliedInPairs(const ContractionSpace& space, const Instruction& product) {
  return SumTypeOf(product) == Type::kS32 && MagnitudeBits(product.operand(0)) <= 8 &&
         MagnitudeBits(product.operand(1)) <= 8 && space.position().size == 1 && space.term().size % 2 == 0;
}

// Integer terms whose sum is exact in f32 (up to 2^24). 0 for unsigned results, because converting a negative sum to
// them would saturate.
int64_t ExactTerms(const Instruction& product) {
  const int bits = MagnitudeBits(product.operand(0)) + MagnitudeBits(product.operand(1));
  return !IsSigned(product.shape().type()) || bits > 24 ? 0 : int64_t{1} << (24 - bits);
}

class PackedProduct {
 public:
  PackedProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request)
      : space_(space),
        hero_(hero),
        declared_(KernelTypeOf(hero.shape().type())),
        sum_type_(SumTypeOf(hero)),
        of_element_(AreMultipliedInPairs(space, hero) ? 2 : 1),
        exact_panels_(of_element_ == 2 ? 0 : ExactTerms(hero) / PanelOf(space, request.plan.tile[2])),
        in_floats_(exact_panels_ > 0),
        type_(of_element_ == 2 ? Type::kS32
              : in_floats_     ? Type::kF32
                               : sum_type_),
        tile_rows_(request.plan.tile[0]),
        tile_columns_(request.plan.tile[1]),
        panel_(PanelOf(space, request.plan.tile[2])),
        warps_(request.plan.threads / 32),
        warp_rows_(tile_rows_ / warps_),
        width_(static_cast<int>(request.plan.vector)),
        positions_of_panel_(space.position().size > 1 && space.row_classes == 1 ? panel_ / space.term().size : 1),
        lhs_is_transposed_(space.RunsAlong(space.lhs, space.row()) && !space.RunsAlong(space.lhs, space.term())),
        rhs_is_transposed_(space.RunsAlong(space.rhs, space.term()) && !space.RunsAlong(space.rhs, space.column())),
        lhs_pitch_(Pitch(lhs_is_transposed_ ? tile_rows_ : panel_ / of_element_)),
        rhs_pitch_(Pitch(tile_columns_)),
        frame_(space.graph, space.Needed(), LaunchOf(space, ProductAxes(space), request.plan), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        results_(space, hero, frame_) {}

  EmittedKernel Emit() && {
    const int64_t terms = panel_ / of_element_;
    lhs_panel_ = k_.Shared("lhs", type_, lhs_pitch_ * (lhs_is_transposed_ ? terms : tile_rows_));
    rhs_panel_ = rhs_is_transposed_ ? k_.SharedTile("rhs", type_, rhs_pitch_, terms)
                                    : k_.Shared("rhs", type_, rhs_pitch_ * terms);
    const int64_t row_tiles = CeilDiv(space_.row().size, tile_rows_);
    const int64_t column_tiles = CeilDiv(space_.column().size, tile_columns_);
    column0_ = k_.block() % column_tiles * tile_columns_;
    row0_ = k_.block() / column_tiles % row_tiles * tile_rows_;
    emission_.Bind(space_.group().e, k_.block() / (column_tiles * row_tiles));
    // Whole vectors are multiplied, so elements after the last row and column need values.
    if (space_.row().size % tile_rows_ != 0) Clear(lhs_panel_);
    if (space_.column().size % tile_columns_ != 0) Clear(rhs_panel_);
    for (int64_t r = 0; r < warp_rows_; ++r) {
      sums_.push_back(k_.MakeSlot(type_, width_));
      k_.Fill(sums_.back(), Zero(type_));
      if (!in_floats_ || (Panels() <= exact_panels_ && sum_type_ == declared_)) continue;
      totals_.push_back(k_.MakeSlot(sum_type_, width_));
      k_.Fill(totals_.back(), Zero(sum_type_));
    }
    if (positions_of_panel_ > 1) AddPositions();
    else AddPanels();
    if (!totals_.empty()) AddToTotals();
    k_.Warps([&] { results_.Store(totals_.empty() ? sums_ : totals_, row0_, tile_rows_, column0_, tile_columns_); });
    return std::move(results_).Finish("product, packed", sum_type_, space_.Size(Role::kReduced));
  }

 private:
  using Dimension = ContractionSpace::Variable;

  // At most `steps` indices of `variable`, from `from` on. `pitch` is the distance of neighbours in the panel.
  // `of_element` values form one element.
  struct Axis {
    const Dimension& variable;
    Value from;
    int64_t steps, pitch;
    int64_t of_element = 1;
  };

  // Rounds up to an odd number of cache lines (of f32): lines of a panel use different sets of the first-level cache.
  static int64_t Pitch(int64_t elements) { return (CeilDiv(elements, kWhole) | 1) * kWhole; }

  // Terms of a panel: at most `most`, rounded up to 32.
  static int64_t PanelOf(const ContractionSpace& space, int64_t most) {
    return std::min(most, CeilDiv(space.position().size * space.term().size, 32) * 32);
  }

  Value Zero(Type type) { return kernel::IsFloat(type) ? k_.Constant(type, 0.0) : k_.Constant(type, int64_t{0}); }

  void Clear(const Array& panel) {
    constexpr int kWidth = 8;
    const int64_t step = int64_t{32} * warps_ * kWidth;
    k_.Loop(int64_t{0}, panel.elements(), step, [&](Value begin) {
      TileOver(k_, kWidth, panel.elements(), begin, step, [&](Value i) { panel.Store(begin + i, Zero(type_)); });
    });
  }

  Value Elements(Value terms) { return of_element_ == 1 ? terms : terms / of_element_; }

  Value Left(Value from, int64_t steps, int64_t end) {
    return end % steps == 0 ? k_.Index(steps) : Min(k_.Index(steps), k_.Index(end) - from);
  }

  int64_t Panels() const {
    if (positions_of_panel_ > 1) return CeilDiv(space_.position().size, positions_of_panel_);
    return space_.position().size * CeilDiv(space_.term().size, panel_);
  }

  // Empties the sums in floats before another panel could make them inexact.
  void EndPanel(Value panel) {
    if (!totals_.empty()) k_.If(panel % exact_panels_ == exact_panels_ - 1, [&] { AddToTotals(); });
  }

  void AddToTotals() {
    k_.Tile(width_, [&](Value) {
      for (size_t r = 0; r < sums_.size(); ++r) {
        totals_[r].Set(totals_[r].Get() + Convert(sums_[r].Get(), sum_type_));
        sums_[r].Set(Zero(type_));
      }
    });
  }

  void AddPanels() {
    const int64_t positions = space_.position().size, panels = CeilDiv(space_.term().size, panel_);
    k_.Loop(int64_t{0}, Panels(), 1, [&](Value step) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.position().e, panels == 1 ? step : step / panels);
      const Value term0 = panels == 1 ? k_.Index(0) : (positions == 1 ? step : step % panels) * panel_;
      const auto add = [&] {
        PackPanels(term0, k_.Index(0));
        TransposeTile(Elements(Left(term0, panel_, space_.term().size)));
        Multiply(Elements(Left(term0, panel_, space_.term().size)));
      };
      if (space_.row_classes > 1 && positions > 1) k_.If(MeetsElements(), add);
      else add();
      EndPanel(step);
    });
  }

  void AddPositions() {
    const int64_t positions = space_.position().size, terms = space_.term().size;
    k_.Loop(int64_t{0}, positions, positions_of_panel_, [&](Value first) {
      const Value count = Left(first, positions_of_panel_, positions);
      k_.Loop(k_.Index(0), count, 1, [&](Value i) {
        Emission::Scope scope(emission_);
        emission_.Bind(space_.position().e, first + i);
        PackPanels(k_.Index(0), i * terms);
      });
      TransposeTile(count * terms);
      Multiply(count * terms);
      EndPanel(first / positions_of_panel_);
    });
  }

  struct Operand {
    NodeId node;
    std::span<const IndexCondition> conditions;
    Type type;
  };

  // The number that is multiplied, or 0 if a condition does not hold. The operand is first converted to the product's
  // type (docs/ops.md), which may wrap integers. It is always read if runs of lanes share the conditions (`in_runs`),
  // so that accesses stay contiguous, and if it is an f8e8m0fnu, which has no 0.
  Value Element(const Operand& operand, bool in_runs) {
    const auto multiplied = [&](Value value) { return Convert(Convert(value, declared_), type_); };
    if (operand.conditions.empty()) return multiplied(emission_.Emit(operand.node));
    if (in_runs || operand.type == Type::kF8E8M0FNU)
      return Select(emission_.All(operand.conditions), multiplied(emission_.Emit(operand.node)), Zero(type_));
    return multiplied(emission_.EmitWhere(operand.conditions, operand.node, Zero(operand.type)));
  }

  void Pack(const Operand& operand, const Axis& line, const Axis& lane,
            const std::function<void(Value line, Value lane, Value value)>& put) {
    emission_.SetLane(lane.variable.e);
    const int64_t most = lane.steps / lane.of_element;
    const int width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(CeilDiv(most, 32))));
    const bool fits = 32 * width == most && lane.variable.size % lane.steps == 0;
    const bool in_runs = std::ranges::all_of(operand.conditions, [&](const IndexCondition& condition) {
      return space_.StepOf(condition.expression, lane.variable) == 0;
    });
    const auto count = [&](const Axis& axis) {
      const Value left = Left(axis.from, axis.steps, axis.variable.size);
      return axis.of_element == 1 ? left : left / axis.of_element;
    };
    const Value lines = count(line), lanes = count(lane);
    const auto bind = [&](const Axis& axis, Value i, int64_t k) {
      emission_.Bind(axis.variable.e, axis.of_element == 1 ? axis.from + i : axis.from + (i * axis.of_element + k));
    };
    k_.Warps([&] {
      k_.Loop(k_.warp(), lines, warps_, [&](Value i) {
        Emission::Scope scope(emission_);
        if (line.of_element == 1) {
          bind(line, i, 0);
          const NodeId nodes[] = {operand.node};
          emission_.Hoist(nodes);
          for (const IndexCondition& condition : operand.conditions) emission_.Hoist(condition.expression);
        }
        const auto value = [&](Value j, int64_t k) {
          Emission::Scope in_tile(emission_);
          if (line.of_element > 1) bind(line, i, k);
          bind(lane, j, k);
          return Element(operand, in_runs);
        };
        const auto element = [&](Value j) {
          put(i, j, of_element_ == 1 ? value(j, 0) : PackPair(value(j, 0), value(j, 1)));
        };
        if (fits) k_.Tile(width, element);
        else k_.Tile(width, lanes, element);
      });
    });
  }

  // Packs terms from term0 on, behind `before` earlier terms.
  void PackPanels(Value term0, Value before) {
    const Axis rows{space_.row(), row0_, tile_rows_, lhs_is_transposed_ ? 1 : lhs_pitch_};
    const Axis columns{space_.column(), column0_, tile_columns_, 1};
    const Axis lhs_terms{space_.term(), term0, panel_, lhs_is_transposed_ ? lhs_pitch_ : 1, of_element_};
    const Axis rhs_terms{space_.term(), term0, panel_, rhs_pitch_, of_element_};
    const auto into = [&](const Array& panel, const Axis& line, const Axis& lane) {
      const int64_t pitch = line.variable.role == Role::kReduced ? line.pitch : lane.pitch;
      const Value first = before * pitch;
      return [&, first, line_pitch = line.pitch, lane_pitch = lane.pitch](Value i, Value j, Value value) {
        panel.Store(first + i * line_pitch + j * lane_pitch, value);
      };
    };
    const auto type = [&](int64_t operand) { return KernelTypeOf(hero_.operand(operand).shape().type()); };
    const Operand lhs{space_.lhs, space_.lhs_conditions, type(space_.lhs_operand)};
    const Operand rhs{space_.rhs, space_.rhs_conditions, type(space_.rhs_operand)};
    if (lhs_is_transposed_) Pack(lhs, lhs_terms, rows, into(lhs_panel_, lhs_terms, rows));
    else Pack(lhs, rows, lhs_terms, into(lhs_panel_, rows, lhs_terms));
    if (!rhs_is_transposed_) return Pack(rhs, rhs_terms, columns, into(rhs_panel_, rhs_terms, columns));
    Pack(rhs, columns, rhs_terms, [&](Value i, Value j, Value value) { rhs_panel_.StoreAt(i, before + j, value); });
  }

  void TransposeTile(Value terms) {
    if (rhs_is_transposed_) k_.TransposeTile(rhs_panel_, Left(column0_, tile_columns_, space_.column().size), terms);
  }

  Value Lhs(Value first_row, int64_t r, Value term) {
    if (lhs_is_transposed_) return lhs_panel_.Load(term * lhs_pitch_ + (first_row + r));
    return lhs_panel_.Load(first_row * lhs_pitch_ + (term + r * lhs_pitch_));
  }

  // False if, at this window position, all rows of the tile meet holes of a dilated input.
  Value MeetsElements() {
    const int64_t rows = space_.row().size, of_class = rows / space_.row_classes;
    const Value last = Min(row0_ + (tile_rows_ - 1), k_.Index(rows - 1));
    std::vector<IndexCondition> meet;
    for (const IndexCondition& condition : space_.lhs_conditions) {
      if (condition.high - condition.low == 1) meet.push_back(condition);
    }
    Emission::Scope scope(emission_);
    emission_.Bind(space_.row().e, row0_);
    return emission_.All(meet) | (row0_ / of_class != last / of_class);
  }

  Value Plus(Value sum, Value a, Value b) {
    if (of_element_ == 2) return DotPairs(a, b, sum);
    return kernel::IsFloat(type_) ? Fma(a, b, sum) : sum + a * b;
  }

  void Multiply(Value terms) {
    const bool has_tail = space_.column().size % tile_columns_ != 0;
    const Value columns =
        has_tail ? (k_.Index(space_.column().size) - column0_ + (kWhole - 1)) / kWhole * kWhole : Value();
    k_.Warps([&] {
      const Value first = k_.warp() * warp_rows_;
      const auto tile = [&](Value i) {
        std::vector<Variable> running;
        for (const Slot& sum : sums_) running.push_back(k_.MakeVariable(sum.Get()));
        k_.Loop(k_.Index(0), terms, 1, [&](Value t) {
          const Value b = rhs_is_transposed_ ? rhs_panel_.LoadTransposed(i, t) : rhs_panel_.Load(t * rhs_pitch_ + i);
          for (int64_t r = 0; r < warp_rows_; ++r) {
            const Value a = Lhs(first, r, t);
            running[r].Set(Plus(running[r].Get(), a, b));
          }
        });
        for (size_t r = 0; r < sums_.size(); ++r) sums_[r].Set(running[r].Get());
      };
      const auto multiply = [&] {
        if (has_tail) k_.Tile(width_, columns, tile);
        else k_.Tile(width_, tile);
      };
      if (space_.row().size % tile_rows_ == 0) return multiply();
      k_.If(row0_ + first < space_.row().size, multiply);
    });
  }

  ContractionSpace& space_;
  const Instruction& hero_;
  // Types of the result, of sums and (type_) of factors.
  const Type declared_, sum_type_;
  const int64_t of_element_;    // Terms in an element of a panel.
  const int64_t exact_panels_;  // Number of panels whose sums of integers are exact in f32.
  const bool in_floats_;
  const Type type_;
  const int64_t tile_rows_, tile_columns_, panel_, warps_, warp_rows_;
  const int width_;
  const int64_t positions_of_panel_;
  // Panels are transposed if the operand is contiguous along rows (lhs) or terms (rhs).
  const bool lhs_is_transposed_, rhs_is_transposed_;
  const int64_t lhs_pitch_, rhs_pitch_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ProductResults results_;
  Array lhs_panel_, rhs_panel_;
  Value column0_, row0_;
  // `totals_` collects `sums_` if integers are added in floats and `sums_` cannot hold the result. Otherwise empty.
  std::vector<Slot> sums_, totals_;
};

}  // namespace

Result<EmittedKernel> EmitPackedContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& hero = *TRY(ProductOf(request));
  const int64_t warps = plan.threads / 32;
  TRY(request.Require(
      plan.tile[0] % warps == 0 && plan.tile[0] / warps <= 16 && plan.tile[0] <= 512 &&
          plan.tile[1] == 32 * plan.vector && plan.vector <= 16 && plan.tile[2] % 32 == 0 &&
          plan.tile[2] <= kMostPackedPanel,
      Str("a tile with packed panels for ", plan.threads, " threads with vector ", plan.vector,
          " must have 1 to 16 times ", warps, " rows (512 at most), ", 32 * plan.vector, " columns (512 at most), and ",
          kLeastPackedPanel, " to ", kMostPackedPanel, " terms, a multiple of 32")));
  TRY(request.Require(plan.stages == 1, "its panels are filled one at a time, so stages must be 1"));
  const auto space = TRY(ProductSpaceOf(request, hero));
  space->PutNeighboursIntoColumns();
  return PackedProduct(*space, hero, request).Emit();
}

}  // namespace hlo::gpu
