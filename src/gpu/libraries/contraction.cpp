#include "gpu/libraries/contraction.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"
#include "ir/analysis/channel_sum.h"
#include "ir/dimensions.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

// Sets the arbitrary strides of dimensions of size 1 to 0, to make views comparable.
void Normalize(View& view) {
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 1) view.strides[d] = 0;
  }
}

// The view after a reshape to `dims`. nullopt if merged or split dimensions are not contiguous.
std::optional<View> ReshapeView(const View& from, const std::vector<int64_t>& dims) {
  View to = from;
  to.dims = dims;
  to.strides.assign(dims.size(), 0);
  size_t i = 0, j = 0;
  while (i < from.dims.size() || j < dims.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = i < from.dims.size() ? from.dims[i++] : 1, b = j < dims.size() ? dims[j++] : 1;
    while (a != b) {
      if (a < b) {
        if (i == from.dims.size()) return std::nullopt;
        a *= from.dims[i++];
      } else {
        if (j == dims.size()) return std::nullopt;
        b *= dims[j++];
      }
    }
    std::vector<int64_t> group(i - i0);
    std::iota(group.begin(), group.end(), static_cast<int64_t>(i0));
    Run run;
    if (!Combine(from, group, &run)) return std::nullopt;
    int64_t stride = run.stride;
    for (size_t d = j; d-- > j0;) {
      to.strides[d] = stride;
      stride *= dims[d];
    }
  }
  Normalize(to);
  return to;
}

std::optional<View> ViewOfSource(const Instruction& inst) {
  if (inst.Is(Opcode::kParameter)) {
    View view{.operand = inst.parameter_number(),
              .type = inst.shape().type(),
              .dims = inst.shape().dims(),
              .strides = LayoutStrides(inst.shape())};
    Normalize(view);
    return view;
  }
  if (!inst.Is(Opcode::kConstant) || !inst.shape().IsScalar() || !IsFloat(inst.shape().type())) return std::nullopt;
  return View{.constant = inst.literal().GetDouble(0), .type = inst.shape().type()};
}

std::optional<View> MoveView(const Instruction& inst, const View& from) {
  View to = from;
  switch (inst.opcode()) {
    case Opcode::kCopy:
    case Opcode::kConvert: return from;
    case Opcode::kBroadcast: {
      to.dims = inst.shape().dims();
      to.strides.assign(to.dims.size(), 0);
      for (size_t d = 0; d < inst.dimensions().size(); ++d) to.strides[inst.dimensions()[d]] = from.strides[d];
      return to;
    }
    case Opcode::kTranspose: {
      for (size_t d = 0; d < to.dims.size(); ++d) {
        to.dims[d] = from.dims[inst.dimensions()[d]];
        to.strides[d] = from.strides[inst.dimensions()[d]];
      }
      return to;
    }
    case Opcode::kReshape: return ReshapeView(from, inst.shape().dims());
    case Opcode::kBitcast: {  // The bitcast's layout gives the order of bytes.
      if (from.operand < 0 || inst.shape().type() != from.type) return std::nullopt;
      View dense{.dims = inst.operand(0).shape().dims(), .strides = LayoutStrides(inst.operand(0).shape())};
      Normalize(dense);
      if (from.strides != dense.strides) return std::nullopt;
      to = {.operand = from.operand,
            .type = from.type,
            .dims = inst.shape().dims(),
            .strides = LayoutStrides(inst.shape())};
      Normalize(to);
      return to;
    }
    default: return std::nullopt;
  }
}

const Instruction* FindProduct(const Computation& computation) {
  const Instruction* product = nullptr;
  for (const Instruction* inst : computation.Instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    if (product != nullptr) return nullptr;
    product = inst;
  }
  return product;
}

struct StepOp {
  Opcode opcode;
  EpilogueOp op;
};
constexpr StepOp kStepOps[] = {
    {Opcode::kAdd, EpilogueOp::kAdd},
    {Opcode::kSubtract, EpilogueOp::kSubtract},
    {Opcode::kMultiply, EpilogueOp::kMultiply},
    {Opcode::kMaximum, EpilogueOp::kRelu},
};

bool ReadStep(const Instruction& user, const Instruction& value, EpilogueStep* step) {
  if (user.operand_count() != 2 || user.shape().type() != value.shape().type()) return false;
  const bool left = &user.operand(0) == &value;
  const Instruction& other = user.operand(left ? 1 : 0);
  if (&other == &value) return false;
  const auto row = std::ranges::find(kStepOps, user.opcode(), &StepOp::opcode);
  if (row == std::end(kStepOps) || (!left && !user.Is(kCommutative))) return false;
  step->op = row->op;
  if (step->op == EpilogueOp::kRelu) return other.IsConstantOf(0);
  const auto view = ReadView(other);
  if (!view) return false;
  step->view = *view;
  return true;
}

bool IsViewOp(const Instruction& inst) { return inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kReshape); }

// The value that the fusion stores, or null. Adds its channel sums, and the results that depend on them, to
// `contraction`.
const Instruction* ReadResults(const Computation& computation, Contraction* contraction) {
  const Instruction& root = computation.root();
  if (!root.Is(Opcode::kTuple)) return root.shape().IsArray() ? &root : nullptr;
  const Instruction* stored = nullptr;
  for (const Instruction* inst : computation.PostOrder()) {
    const auto sum = ChannelSumOf(*inst);
    if (!sum) continue;
    if (stored != nullptr && sum->value != stored) return nullptr;
    stored = sum->value;
    contraction->sums.push_back({.channels = sum->channels, .of_squares = sum->of_squares, .inst = inst});
  }
  if (stored == nullptr) return nullptr;
  contraction->stored = -1;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    const Instruction& result = root.operand(i);
    const auto sum = std::ranges::find(contraction->sums, &result, &ResultSum::inst);
    int64_t* const number = &result == stored                ? &contraction->stored
                            : sum != contraction->sums.end() ? &sum->result
                                                             : nullptr;
    if (number == nullptr && ReadsSumsAlone(result, *stored)) contraction->of_sums.push_back(i);
    else if (number == nullptr || std::exchange(*number, i) >= 0) return nullptr;
  }
  return contraction->stored < 0 ? nullptr : stored;
}

struct DotGroups {
  std::vector<int64_t> lhs_free, rhs_free;
  std::vector<int64_t> batch, rows, columns;
};

DotGroups GroupsOf(const Contraction& contraction) {
  const auto& attrs = contraction.product->attrs<DotAttrs>();
  DotGroups groups;
  groups.lhs_free =
      FreeDimensions(static_cast<int64_t>(contraction.lhs.dims.size()), attrs.lhs_batch, attrs.lhs_contracting);
  groups.rhs_free =
      FreeDimensions(static_cast<int64_t>(contraction.rhs.dims.size()), attrs.rhs_batch, attrs.rhs_contracting);
  int64_t next = 0;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) groups.batch.push_back(next++);
  for (size_t i = 0; i < groups.lhs_free.size(); ++i) groups.rows.push_back(next++);
  for (size_t i = 0; i < groups.rhs_free.size(); ++i) groups.columns.push_back(next++);
  return groups;
}

bool MatrixOf(const View& view, const std::vector<int64_t>& batch, const std::vector<int64_t>& rows,
              const std::vector<int64_t>& columns, MatrixView* matrix) {
  Run run;
  if (!Combine(view, batch, &run)) return false;
  matrix->batch = run.stride;
  if (!Combine(view, rows, &run)) return false;
  matrix->row = run.stride;
  if (!Combine(view, columns, &run)) return false;
  matrix->column = run.stride;
  return true;
}

bool ReadSteps(const Contraction& contraction, const std::vector<int64_t>& batch, const std::vector<int64_t>& rows,
               const std::vector<int64_t>& columns, MatrixProduct* product) {
  for (const EpilogueStep& step : contraction.epilogue) {
    MatrixStep matrix{step.op, step.view.operand, step.view.constant, {}};
    const bool has_view = step.op != EpilogueOp::kRelu && !step.view.dims.empty();
    if (has_view && !MatrixOf(step.view, batch, rows, columns, &matrix.strides)) return false;
    product->epilogue.push_back(matrix);
  }
  return true;
}

int64_t Size(const View& view, const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (const int64_t d : dims) size *= view.dims[d];
  return size;
}

}  // namespace

std::optional<View> ReadView(const Instruction& inst, bool rounded) {
  const auto moves = [&](const Instruction& i) {
    if (rounded && i.Is(Opcode::kConvert)) return IsFloat(i.shape().type()) && IsFloat(i.operand(0).shape().type());
    return i.Is(Opcode::kCopy) || i.Is(Opcode::kBroadcast) || i.Is(Opcode::kTranspose) || i.Is(Opcode::kReshape) ||
           i.Is(Opcode::kBitcast);
  };
  std::vector<const Instruction*> way;
  const Instruction* source = &inst;
  for (; moves(*source); source = &source->operand(0)) way.push_back(source);
  std::optional<View> view = ViewOfSource(*source);
  for (size_t i = way.size(); i-- > 0 && view;) view = MoveView(*way[i], *view);
  return view;
}

bool Combine(const View& view, const std::vector<int64_t>& dims, Run* run) {
  *run = {};
  bool first = true;
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t size = view.dims[dims[i]], stride = view.strides[dims[i]];
    if (size == 1) continue;
    if (first) {
      run->stride = stride;
      first = false;
    } else if (stride != run->stride * run->size) {
      return false;
    }
    run->size *= size;
  }
  return true;
}

ContractionAnswer ReadContraction(const Instruction& fusion) {
  ContractionAnswer answer;
  const auto no = [&](std::string why) {
    answer.why_not = std::move(why);
    return std::move(answer);
  };
  const Computation& computation = *fusion.attrs<FusionAttrs>().calls;
  const Instruction* product = FindProduct(computation);
  if (product == nullptr) return no("its computation does not hold exactly one dot or convolution");
  Contraction& contraction = answer.contraction;
  contraction.product = product;
  const Instruction* const stored = ReadResults(computation, &contraction);
  if (stored == nullptr) return no("it has results other than one value and sums of that value");
  if (product->operand_count() != 2) return no("it has sparse operands");
  const auto lhs = ReadView(product->operand(0)), rhs = ReadView(product->operand(1));
  if (!lhs || !rhs || lhs->operand < 0 || rhs->operand < 0)
    return no("an operand of the product is computed in the fusion");
  contraction.lhs = *lhs;
  contraction.rhs = *rhs;
  const Instruction* value = product;
  while (value != stored) {
    if (value->users().size() != 1) return no(Str("'", value->name(), "' is used more than once"));
    const Instruction& user = *value->users().front();
    if (IsViewOp(user) && user.IsRoot()) break;
    EpilogueStep step;
    if (!ReadStep(user, *value, &step)) return no(Str("'", user.name(), "' cannot be an epilogue of the product"));
    contraction.epilogue.push_back(std::move(step));
    value = &user;
  }
  // A reshape between row-major shapes keeps the bytes, as a bitcast does.
  const Shape& shape = contraction.sums.empty() ? fusion.shape() : fusion.shape().element(contraction.stored);
  if (stored->Is(Opcode::kReshape) && !(value->shape().HasDefaultLayout() && shape.HasDefaultLayout())) {
    return no("the result is reshaped into another layout");
  }
  contraction.result = {.type = value->shape().type(),
                        .dims = value->shape().dims(),
                        .strides = LayoutStrides(value == stored ? shape : value->shape())};
  Normalize(contraction.result);
  return answer;
}

double Flop(const MatrixProduct& product) {
  return 2.0 * static_cast<double>(product.batch) * static_cast<double>(product.m) * static_cast<double>(product.n) *
         static_cast<double>(product.k);
}

MatrixAnswer ReadMatrixProduct(const Contraction& contraction) {
  MatrixAnswer answer;
  const auto no = [&](std::string why) {
    answer.why_not = std::move(why);
    return std::move(answer);
  };
  const auto& attrs = contraction.product->attrs<DotAttrs>();
  const DotGroups groups = GroupsOf(contraction);
  MatrixProduct& product = answer.product;
  product.lhs_type = contraction.lhs.type;
  product.rhs_type = contraction.rhs.type;
  product.result_type = contraction.result.type;
  product.lhs_operand = contraction.lhs.operand;
  product.rhs_operand = contraction.rhs.operand;
  product.batch = Size(contraction.result, groups.batch);
  product.m = Size(contraction.result, groups.rows);
  product.n = Size(contraction.result, groups.columns);
  product.k = Size(contraction.lhs, attrs.lhs_contracting);
  if (!MatrixOf(contraction.lhs, attrs.lhs_batch, groups.lhs_free, attrs.lhs_contracting, &product.lhs) ||
      !MatrixOf(contraction.rhs, attrs.rhs_batch, attrs.rhs_contracting, groups.rhs_free, &product.rhs) ||
      !MatrixOf(contraction.result, groups.batch, groups.rows, groups.columns, &product.result)) {
    return no("its dimensions do not combine into matrices");
  }
  if (!ReadSteps(contraction, groups.batch, groups.rows, groups.columns, &product)) {
    return no("an operand of the epilogue does not combine into matrices");
  }
  return answer;
}

MatrixAnswer ReadPointwiseConvolution(const Contraction& contraction) {
  MatrixAnswer answer;
  const auto no = [&](std::string why) {
    answer.why_not = std::move(why);
    return std::move(answer);
  };
  const auto& attrs = contraction.product->attrs<ConvolutionAttrs>();
  for (const WindowDim& dim : attrs.window.dims) {
    if (dim.size != 1 || dim.stride != 1 || dim.pad_low != 0 || dim.pad_high != 0 || dim.base_dilation != 1)
      return no("its window is larger than one element, or has a stride, padding or dilation");
  }
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) return no("it has groups");
  const DimLabels& labels = attrs.dim_labels;
  const auto positions = [](int64_t batch, const std::vector<int64_t>& spatial) {
    std::vector<int64_t> dims = {batch};
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    return dims;
  };
  const std::vector<int64_t> lhs_rows = positions(labels.lhs_batch, labels.lhs_spatial),
                             rows = positions(labels.out_batch, labels.out_spatial);
  MatrixProduct& product = answer.product;
  product.lhs_type = contraction.lhs.type;
  product.rhs_type = contraction.rhs.type;
  product.result_type = contraction.result.type;
  product.lhs_operand = contraction.lhs.operand;
  product.rhs_operand = contraction.rhs.operand;
  product.m = Size(contraction.result, rows);
  product.n = contraction.result.dims[labels.out_feature];
  product.k = contraction.lhs.dims[labels.lhs_feature];
  if (!MatrixOf(contraction.lhs, {}, lhs_rows, {labels.lhs_feature}, &product.lhs) ||
      !MatrixOf(contraction.rhs, {}, {labels.rhs_input_feature}, {labels.rhs_output_feature}, &product.rhs) ||
      !MatrixOf(contraction.result, {}, rows, {labels.out_feature}, &product.result) ||
      !ReadSteps(contraction, {}, rows, {labels.out_feature}, &product)) {
    return no("its dimensions do not combine into matrices");
  }
  return answer;
}

}  // namespace hlo::gpu
