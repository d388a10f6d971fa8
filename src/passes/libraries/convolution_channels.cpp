// cudnn_pad_for_convolutions and cudnn_vectorize_convolutions: pad and reorder channels as tensor cores need them.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/libraries/library_call.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

bool IsByte(PrimitiveType type) { return type == PrimitiveType::kS8 || type == PrimitiveType::kU8; }

// The channels of a call that consists only of its convolution.
struct Channels {
  ConvolutionCall call;
  int64_t inputs = 0, outputs = 0;
};
std::optional<Channels> ReadChannels(const Instruction& inst, const PassContext& context) {
  if (!context.device->is_gpu || LibraryOf(inst) != "convolution" || HasPlan(inst)) return std::nullopt;
  const ConvolutionCall call = ReadConvolutionCall(inst);
  if (call.convolution == nullptr || !call.convolution->IsRoot()) return std::nullopt;
  const auto& attrs = call.convolution->attrs<ConvolutionAttrs>();
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) return std::nullopt;
  return Channels{call, inst.operand(call.input).shape().dim(attrs.dim_labels.lhs_feature),
                  call.convolution->shape().dim(attrs.dim_labels.out_feature)};
}

double Growth(int64_t size, int64_t to) { return static_cast<double>(to) / static_cast<double>(size); }
int64_t RoundUp(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

struct Target {
  int64_t inputs, outputs;
};

// Both channel counts become multiples of 8. With 3 input channels and 32 or 64 output channels, only the input is
// padded, to 4. nullopt if an array would grow by more than 35 %.
std::optional<Target> TargetOfHalf(const Channels& channels) {
  if (channels.inputs == 3 && (channels.outputs == 32 || channels.outputs == 64)) return Target{4, channels.outputs};
  const Target target{RoundUp(channels.inputs, 8), RoundUp(channels.outputs, 8)};
  const double input = Growth(channels.inputs, target.inputs), output = Growth(channels.outputs, target.outputs);
  if (std::max({input, output, input * output}) > 1.35) return std::nullopt;
  return target;
}

// Channels become multiples of 32 (from Turing on) or else of 4, whichever first keeps input and result below twice
// their size. Otherwise nullopt.
std::optional<Target> TargetOfBytes(const Channels& channels, int compute_capability) {
  for (const int64_t multiple : {32, 4}) {
    if (multiple == 32 && compute_capability < 75) continue;
    const Target target{RoundUp(channels.inputs, multiple), RoundUp(channels.outputs, multiple)};
    if (Growth(channels.inputs, target.inputs) < 2 && Growth(channels.outputs, target.outputs) < 2) return target;
  }
  return std::nullopt;
}

std::optional<Target> TargetOf(const Instruction& inst, const Channels& channels, const DeviceDescription& device) {
  const PrimitiveType input = inst.operand(channels.call.input).shape().type(), result = inst.shape().type();
  if (input != inst.operand(channels.call.filter).shape().type()) return std::nullopt;
  if (input == PrimitiveType::kF16 && result == input && device.compute_capability >= 70) return TargetOfHalf(channels);
  return IsByte(input) ? TargetOfBytes(channels, device.compute_capability) : std::nullopt;
}

PaddingConfig High(const Shape& shape, std::initializer_list<std::pair<int64_t, int64_t>> sizes) {
  PaddingConfig padding{std::vector<PaddingDim>(shape.rank())};
  for (const auto& [d, size] : sizes) padding.dims[d].high = size - shape.dim(d);
  return padding;
}

Result<Instruction*> PadChannels(Instruction& inst, const PassContext& context) {
  const auto channels = ReadChannels(inst, context);
  const auto target = channels ? TargetOf(inst, *channels, *context.device) : std::nullopt;
  if (!target || (target->inputs == channels->inputs && target->outputs == channels->outputs)) return nullptr;
  const ConvolutionCall& call = channels->call;
  const auto& attrs = call.convolution->attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  Instruction &input = inst.operand(call.input), &filter = inst.operand(call.filter);
  Instruction* const padded = PadWithZeros(inst, input, High(input.shape(), {{labels.lhs_feature, target->inputs}}));
  Instruction* const filters = PadWithZeros(
      inst, filter,
      High(filter.shape(), {{labels.rhs_input_feature, target->inputs}, {labels.rhs_output_feature, target->outputs}}));
  Dims dims = inst.shape().dims();
  dims[labels.out_feature] = target->outputs;
  Instruction& made = WithConvolution(inst, call, *padded, *filters, attrs, inst.shape().WithDims(dims));
  if (SameDims(made.shape(), inst.shape())) return &made;
  SliceAttrs slice;
  for (const int64_t limit : inst.shape().dims()) slice.slice.dims.push_back({.start = 0, .limit = limit});
  return Replace(inst, Opcode::kSlice, {&made}, slice);
}

// [..., channels, ...] => [..., channels / size, ..., size]
Instruction* InVectors(Instruction& inst, Instruction& x, int64_t channels, int64_t size, Computation& to) {
  Dims split;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    split.push_back(d == channels ? x.shape().dim(d) / size : x.shape().dim(d));
    if (d == channels) split.push_back(size);
    order.push_back(d <= channels ? d : d + 1);
  }
  order.push_back(channels + 1);
  Instruction& apart = to.AddLike(inst, Opcode::kReshape, x.shape().WithDims(split), {&x});
  Dims dims;
  for (const int64_t d : order) dims.push_back(split[d]);
  return &to.AddLike(inst, Opcode::kTranspose, x.shape().WithDims(dims), {&apart}, DimensionsAttrs{order});
}
Instruction* WithoutVectors(Instruction& inst, Instruction& x, int64_t channels, Computation& to) {
  const int64_t last = x.shape().rank() - 1;
  std::vector<int64_t> order;
  Dims turned, dims;
  for (int64_t d = 0; d < last; ++d) {
    order.push_back(d);
    if (d == channels) order.push_back(last);
    dims.push_back(x.shape().dim(d) * (d == channels ? x.shape().dim(last) : 1));
  }
  for (const int64_t d : order) turned.push_back(x.shape().dim(d));
  Instruction& straight =
      to.AddLike(inst, Opcode::kTranspose, x.shape().WithDims(turned), {&x}, DimensionsAttrs{order});
  return &to.AddLike(inst, Opcode::kReshape, x.shape().WithDims(dims), {&straight});
}

// Channels of a vector: 32 (from Turing on), 4, or 1 if neither divides the channels.
int64_t VectorSize(const Channels& channels, int compute_capability) {
  for (const int64_t size : {32, 4}) {
    if (size == 32 && compute_capability < 75) continue;
    if (channels.inputs % size == 0 && channels.outputs % size == 0) return size;
  }
  return 1;
}

// The arrays get vectors of channels as last dimension, and the call's computation undoes this transpose. Libraries
// express both transposes as strides.
Result<Instruction*> Vectorise(Instruction& inst, const PassContext& context) {
  const auto channels = ReadChannels(inst, context);
  if (!channels) return nullptr;
  const ConvolutionCall& call = channels->call;
  const PrimitiveType type = inst.shape().type();
  if (!IsByte(type) || inst.operand(call.input).shape().type() != type ||
      inst.operand(call.filter).shape().type() != type)
    return nullptr;
  const int64_t size = VectorSize(*channels, context.device->compute_capability);
  if (size == 1) return nullptr;
  const auto& attrs = call.convolution->attrs<ConvolutionAttrs>();
  const int64_t features[] = {attrs.dim_labels.lhs_feature, attrs.dim_labels.rhs_input_feature};
  Computation& body = inst.module().AddComputation(FusedComputation(inst).name());
  std::vector<Instruction*> operands, inner;
  for (int64_t i = 0; i < 2; ++i) {
    Instruction* const x =
        InVectors(inst, inst.operand(i == 0 ? call.input : call.filter), features[i], size, inst.computation());
    operands.push_back(x);
    inner.push_back(WithoutVectors(inst, body.AddParameter(i, x->shape()), features[i], body));
  }
  Instruction& convolution = body.AddClone(*call.convolution, inner);
  body.SetRoot(*InVectors(inst, convolution, attrs.dim_labels.out_feature, size, body));
  Instruction& made = inst.computation().AddClone(inst, body.root().shape(), operands);
  made.mutable_attrs<FusionAttrs>().calls = &body;
  made.SetOrigin(-1);  // Elements have other indices.
  return WithoutVectors(inst, made, attrs.dim_labels.out_feature, inst.computation());
}

// clang-format off: tables.
constexpr Rule kPadding[] = {
    {"G.fusion.3", Opcode::kFusion, PadChannels, Preserves::kExact, "convolution(x, k) => slice(convolution(pad(x), pad(k))), with channels padded to multiples"},
};
constexpr Rule kVectors[] = {
    {"G.fusion.4", Opcode::kFusion, Vectorise, Preserves::kExact, "convolution(x, k) => convolution of vectors of 32 or 4 channels of bytes"},
};
// clang-format on

}  // namespace

std::span<const Rule> ConvolutionChannelRules() { return kPadding; }
std::span<const Rule> ConvolutionVectorRules() { return kVectors; }

Result<bool> PadConvolutionChannels(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kPadding);
}
Result<bool> VectoriseConvolutions(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kVectors);
}

}  // namespace hlo
