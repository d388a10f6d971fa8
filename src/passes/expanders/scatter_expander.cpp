// scatter_expander loops over the windows of a scatter in the order of the indices, so that every run gives the same
// sums. {simple_only=true} expands only scatters of a single window, without a loop. gpu_scatter_expander expands only
// scatters of elements that are too wide for atomic operations.
#include <algorithm>

#include "ir/dimensions.h"
#include "passes/expanders/windows.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

class Expansion {
 public:
  explicit Expansion(Instruction& inst)
      : inst_(inst), attrs_(inst.attrs<ScatterAttrs>()), count_((inst.operand_count() - 1) / 2) {
    const Shape& indices = this->indices().shape();
    for (int64_t d = 0; d < indices.rank(); ++d) windows_ *= d == attrs_.index_vector_dim ? 1 : indices.dim(d);
  }

  int64_t windows() const { return windows_; }

  bool Fits() const {
    for (const Instruction* operand : inst_.operands()) {
      if (operand->shape().HasDynamicDims()) return false;
    }
    return indices().shape().type() != PrimitiveType::kU64 && IsElementwise(*attrs_.to_apply);
  }

  std::vector<Instruction*> Run() {
    std::vector<Instruction*> state(inst_.operands().begin(), inst_.operands().begin() + count_);
    if (windows_ == 0 || inst_.operand(0).shape().NumElements() == 0) return state;
    positions_ = PositionsOf(inst_, indices(), attrs_.index_vector_dim, attrs_.scatter_dims_to_operand_dims,
                             attrs_.input_batching_dims, attrs_.scatter_indices_batching_dims);
    std::vector<Instruction*> given = {positions_.table};
    for (int64_t i = 0; i < count_; ++i) given.push_back(Updates(inst_.operand(count_ + 1 + i)));
    return ForEachWindow(inst_, windows_, state, given,
                         [this](Computation& computation, Instruction& row, const std::vector<Instruction*>& values,
                                const std::vector<Instruction*>& table_and_updates) {
                           return Step(computation, row, values, table_and_updates);
                         });
  }

 private:
  Instruction& indices() const { return inst_.operand(count_); }

  // Whether the combiner can be applied to windows as a whole.
  static bool IsElementwise(const Computation& combiner) {
    for (const Instruction* inst : combiner.instructions()) {
      const bool names =
          inst->Is(Opcode::kParameter) || inst->Is(Opcode::kConstant) || (inst->Is(Opcode::kTuple) && inst->IsRoot());
      if (!names && !(inst->Is(kElementwise) && inst->shape().IsScalar())) return false;
    }
    return true;
  }

  // [windows, window...], in the operand's order of dimensions.
  Instruction* Updates(Instruction& updates) {
    std::vector<int64_t> order, dims = {windows_};
    for (int64_t d = 0; d < updates.shape().rank(); ++d) {
      if (!Contains(attrs_.update_window_dims, d)) order.push_back(d);
    }
    order.insert(order.end(), attrs_.update_window_dims.begin(), attrs_.update_window_dims.end());
    size_t next = 0;
    for (int64_t d = 0; d < inst_.operand(0).shape().rank(); ++d) {
      const bool absent = Contains(attrs_.inserted_window_dims, d) || Contains(attrs_.input_batching_dims, d);
      dims.push_back(absent ? 1 : updates.shape().dim(attrs_.update_window_dims[next++]));
    }
    return Reshaped(inst_, Transposed(inst_, &updates, order), dims);
  }

  // Combines one window with its update. A select keeps a window that is partly outside, because dynamic-slice and
  // dynamic-update-slice clamp its indices.
  std::vector<Instruction*> Step(Computation& computation, Instruction& row, const std::vector<Instruction*>& values,
                                 const std::vector<Instruction*>& given) {
    const Shape& whole = values[0]->shape();
    const std::vector<Instruction*> position = PositionOf(inst_, positions_, *given[0], row, whole.rank());
    std::vector<Instruction*> before, window;
    for (size_t i = 0; i < values.size(); ++i) {
      window.push_back(Row(inst_, given[i + 1], row));
      std::vector<Instruction*> operands = {values[i]};
      operands.insert(operands.end(), position.begin(), position.end());
      const Shape& shape = window[i]->shape();
      before.push_back(Beside(inst_, Opcode::kDynamicSlice, shape.WithType(values[i]->shape().type()), operands,
                              DynamicSliceAttrs{{shape.dims().begin(), shape.dims().end()}}));
    }
    Instruction* const inside = IsInside(computation, position, whole, window[0]->shape());
    std::vector<Instruction*> arguments = before;
    arguments.insert(arguments.end(), window.begin(), window.end());
    std::vector<Instruction*> combined = Combine(computation, arguments, window[0]->shape());
    for (size_t i = 0; i < values.size(); ++i) {
      Instruction* update = combined[i];
      if (inside != nullptr) {
        const Shape mask = window[0]->shape().WithType(PrimitiveType::kPred);
        Instruction* const all =
            mask.IsScalar() ? inside : Beside(inst_, Opcode::kBroadcast, mask, {inside}, DimensionsAttrs{});
        update = Beside(inst_, Opcode::kSelect, before[i]->shape(), {all, update, before[i]});
      }
      std::vector<Instruction*> operands = {values[i], update};
      operands.insert(operands.end(), position.begin(), position.end());
      combined[i] = Beside(inst_, Opcode::kDynamicUpdateSlice, values[i]->shape(), operands);
    }
    return combined;
  }

  // Whether 0 <= index <= size - window in each dimension with an index. Null if no dimension has one.
  Instruction* IsInside(Computation& computation, const std::vector<Instruction*>& position, const Shape& whole,
                        const Shape& window) {
    const Shape pred = Shape::Scalar(PrimitiveType::kPred);
    Instruction* inside = nullptr;
    const auto require = [&](Instruction* value, ComparisonDirection direction, int64_t bound) {
      Instruction& limit = computation.AddConstant(Literal::Scalar(value->shape().type(), bound));
      Instruction* const holds =
          Beside(inst_, Opcode::kCompare, pred, {value, &limit}, CompareAttrs{direction, ComparisonType::kDefault});
      inside = inside == nullptr ? holds : Beside(inst_, Opcode::kAnd, pred, {inside, holds});
    };
    for (const int64_t d : positions_.dimensions) {
      require(position[d], ComparisonDirection::kGe, 0);
      require(position[d], ComparisonDirection::kLe, whole.dim(d) - window.dim(d));
    }
    return inside;
  }

  std::vector<Instruction*> Combine(Computation& computation, const std::vector<Instruction*>& arguments,
                                    const Shape& window) {
    const Computation& combiner = *attrs_.to_apply;
    std::vector<Instruction*> copies(combiner.place_limit());
    for (const Instruction* inst : combiner.PostOrder()) {
      Instruction*& copy = copies[inst->place()];
      if (inst->Is(Opcode::kParameter)) {
        copy = arguments[inst->parameter_number()];
        continue;
      }
      if (inst->Is(Opcode::kTuple)) continue;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
      const Shape shape = window.WithType(inst->shape().type());
      if (!inst->Is(Opcode::kConstant)) {
        copy = &computation.AddClone(*inst, shape, operands);
        copy->SetOrigin(-1);
        continue;
      }
      copy = &computation.AddClone(*inst, operands);
      copy->SetOrigin(-1);
      if (!shape.IsScalar()) copy = Beside(inst_, Opcode::kBroadcast, shape, {copy}, DimensionsAttrs{});
    }
    if (!combiner.root().Is(Opcode::kTuple)) return {copies[combiner.root().place()]};
    std::vector<Instruction*> results;
    for (const Instruction* result : combiner.root().operands()) results.push_back(copies[result->place()]);
    return results;
  }

  Instruction& inst_;
  const ScatterAttrs& attrs_;
  const int64_t count_;
  int64_t windows_ = 1;
  Positions positions_;
};

Result<Instruction*> Expand(Instruction& inst, bool simple_only) {
  Expansion expansion(inst);
  if ((simple_only && expansion.windows() != 1) || !expansion.Fits()) return nullptr;
  const std::vector<Instruction*> results = expansion.Run();
  return inst.shape().IsTuple() ? Replace(inst, Opcode::kTuple, results) : results[0];
}

Result<Instruction*> ExpandScatter(Instruction& inst, const PassContext& context) {
  return Expand(inst, context.Get<ExpansionOptions>().simple_only);
}

Result<Instruction*> ExpandWideScatter(Instruction& inst, const PassContext&) {
  const bool wide = std::ranges::any_of(
      inst.operands(), [](const Instruction* operand) { return BitWidth(operand->shape().type()) > 64; });
  return wide ? Expand(inst, false) : nullptr;
}

// clang-format off: tables.
constexpr Rule kRules[] = {
    {"X.scat.1", Opcode::kScatter, ExpandScatter, Preserves::kExact, "scatter(x, i, u) => for each row of i a window of x, combined with one of u"},
};
constexpr Rule kGpuRules[] = {
    {"X.scat.2", Opcode::kScatter, ExpandWideScatter, Preserves::kExact, "scatter(x, i, u) => the same loop, where an element has more than 64 bits"},
};
// clang-format on

}  // namespace

std::span<const Rule> ScatterRules() { return kRules; }
std::span<const Rule> GpuScatterRules() { return kGpuRules; }

Result<bool> ExpandScatters(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }
Result<bool> ExpandWideScatters(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kGpuRules);
}

}  // namespace hlo
