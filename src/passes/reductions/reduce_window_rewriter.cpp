// Computes a running sum from running sums of short rows and of the rows' totals: about kBase * n steps instead of n *
// n / 2.
#include "passes/pass.h"
#include "passes/reductions/reduction.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

constexpr int64_t kBase = 16;  // XLA's --xla_reduce_window_rewrite_base_length.

class RunningSum {
 public:
  RunningSum(Instruction& inst, Opcode op, int64_t dim, bool reverse)
      : inst_(inst), init_(&inst.operand(1)), op_(op), dim_(dim), reverse_(reverse) {}

  Instruction* SumsOf(Instruction* x) {
    const int64_t size = x->shape().dim(dim_);
    if (size <= kBase) return Window(x, dim_);
    const int64_t rows = (size + kBase - 1) / kBase, missing = rows * kBase - size;
    Instruction* const padded = missing == 0 ? x : Pad(x, reverse_ ? missing : 0, reverse_ ? 0 : missing);
    const Shape split = Split(padded->shape(), rows);
    Instruction* const within = Window(Make(Opcode::kReshape, split, {padded}), dim_ + 1);
    Instruction* const sums = SumsOf(Totals(within));
    Instruction* const before = Pad(sums, reverse_ ? -1 : 1, reverse_ ? 1 : -1);
    DimensionsAttrs wide;
    for (int64_t d = 0; d < split.rank(); ++d) {
      if (d != dim_ + 1) wide.dimensions.push_back(d);
    }
    Instruction* const carried = Make(Opcode::kBroadcast, split, {before}, wide);
    Instruction* const whole = Make(op_, split, {reverse_ ? within : carried, reverse_ ? carried : within});
    Instruction* const flat = Make(Opcode::kReshape, padded->shape(), {whole});
    if (missing == 0) return flat;
    return Slice(flat, dim_, reverse_ ? missing : 0, reverse_ ? rows * kBase : size);
  }

 private:
  Instruction* Make(Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs()) {
    return Step(inst_, opcode, std::move(shape), operands, std::move(attrs));
  }
  static Shape WithDims(const Shape& shape, std::span<const int64_t> dims) {
    return Shape(shape.type(), Dims(dims.begin(), dims.end()));
  }
  static std::vector<int64_t> DimsOf(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

  Shape Split(const Shape& shape, int64_t rows) const {
    std::vector<int64_t> dims = DimsOf(shape);
    dims[dim_] = kBase;
    dims.insert(dims.begin() + dim_, rows);
    return WithDims(shape, std::move(dims));
  }

  // The running sum by its definition.
  Instruction* Window(Instruction* x, int64_t dim) {
    ReduceWindowAttrs attrs = inst_.attrs<ReduceWindowAttrs>();
    const int64_t size = x->shape().dim(dim);
    attrs.window.dims.assign(x->shape().rank(), WindowDim());
    attrs.window.dims[dim] = {.size = size, .pad_low = reverse_ ? 0 : size - 1, .pad_high = reverse_ ? size - 1 : 0};
    return Make(Opcode::kReduceWindow, WithDims(x->shape(), DimsOf(x->shape())), {x, init_}, attrs);
  }

  Instruction* Totals(Instruction* within) {
    Instruction* const last = Slice(within, dim_ + 1, reverse_ ? 0 : kBase - 1, reverse_ ? 1 : kBase);
    std::vector<int64_t> dims = DimsOf(last->shape());
    dims.erase(dims.begin() + dim_ + 1);
    return Make(Opcode::kReshape, WithDims(last->shape(), std::move(dims)), {last});
  }

  // A negative number removes elements.
  Instruction* Pad(Instruction* x, int64_t low, int64_t high) {
    PadAttrs attrs;
    attrs.padding.dims.resize(x->shape().rank());
    attrs.padding.dims[dim_] = {.low = low, .high = high};
    std::vector<int64_t> dims = DimsOf(x->shape());
    dims[dim_] += low + high;
    return Make(Opcode::kPad, WithDims(x->shape(), std::move(dims)), {x, init_}, attrs);
  }

  Instruction* Slice(Instruction* x, int64_t dim, int64_t start, int64_t limit) {
    SliceAttrs attrs;
    for (const int64_t size : x->shape().dims()) attrs.slice.dims.push_back({.start = 0, .limit = size});
    attrs.slice.dims[dim] = {.start = start, .limit = limit};
    std::vector<int64_t> dims = DimsOf(x->shape());
    dims[dim] = limit - start;
    return Make(Opcode::kSlice, WithDims(x->shape(), std::move(dims)), {x}, attrs);
  }

  Instruction& inst_;
  Instruction* init_;
  Opcode op_;
  int64_t dim_;
  bool reverse_;
};

// Running sums have window={size=n pad=n-1_0} or pad=0_n-1 along one dimension of n > kBase elements, and size 1
// elsewhere.
Result<Instruction*> SplitRunningSum(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kReduceWindow) || inst.operand_count() != 2) return nullptr;
  const Shape& shape = inst.operand(0).shape();
  const ReduceWindowAttrs& attrs = inst.attrs<ReduceWindowAttrs>();
  const auto op = ReducerOp(*attrs.to_apply);
  if (!op || !MayGroup(*op, inst.operand(1)) || shape.HasDynamicDims() || inst.shape().HasDynamicDims() ||
      inst.shape().type() != shape.type() || inst.operand(1).shape().type() != shape.type())
    return nullptr;
  int64_t along = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (attrs.window.dims[d] == WindowDim()) continue;
    if (along >= 0) return nullptr;
    along = d;
  }
  if (along < 0 || shape.dim(along) <= kBase || shape.NumElements() == 0) return nullptr;
  const int64_t size = shape.dim(along);
  const WindowDim forward = {.size = size, .pad_low = size - 1}, reverse = {.size = size, .pad_high = size - 1};
  if (attrs.window.dims[along] != forward && attrs.window.dims[along] != reverse) return nullptr;
  RunningSum sum(inst, *op, along, attrs.window.dims[along] == reverse);
  Instruction* const result = sum.SumsOf(&inst.operand(0));
  return result->shape() == inst.shape() ? result : Replace(inst, Opcode::kCopy, {result});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"W.rw.1", Opcode::kReduceWindow, SplitRunningSum, Preserves::kReassociates, "a running sum => running sums of short rows, and of the rows' totals"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReduceWindowRules() { return kRules; }

Result<bool> RewriteReduceWindows(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
