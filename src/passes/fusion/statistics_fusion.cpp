// Joins a library's convolution with a kernel that only adds up its result, and the squares, for each channel (a region
// "statistics"). A library may compute these sums on chip. Libraries require 16-bit floats with channels last.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/analysis/channel_sum.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The call's only convolution, or null.
const Instruction* ConvolutionOf(const Instruction& call) {
  const Instruction* found = nullptr;
  for (const Instruction* inst : FusedComputation(call).instructions()) {
    if (inst->Is(Opcode::kConvolution) && std::exchange(found, inst) != nullptr) return nullptr;
  }
  return found;
}

std::string_view WhyNotSums(const Instruction& kernel, const Instruction& call) {
  if (!IsKernel(kernel)) return "it is not a kernel";
  const auto number = std::ranges::find(kernel.operands(), &call) - kernel.operands().begin();
  if (number == std::ssize(kernel.operands())) return "it does not read the convolution directly";
  const Instruction& value = FusedComputation(kernel).parameter(number);
  const int64_t channels = ConvolutionOf(call)->attrs<ConvolutionAttrs>().dim_labels.out_feature;
  bool of_values = false, of_squares = false;
  for (const Instruction* inst : FusedComputation(kernel).instructions()) {
    const auto sum = ChannelSumOf(*inst);
    if (!sum || sum->value != &value) continue;
    if (sum->channels != channels) return "it does not add up the values of one channel";
    if (std::exchange(sum->of_squares ? of_squares : of_values, true)) return "it computes one of its sums twice";
  }
  for (const Instruction* root : FusionRoots(kernel)) {
    if (!ReadsSumsAlone(*root, value)) return "it does more than add up values and their squares";
  }
  return of_values ? "" : "it adds up only squares";
}

std::string_view WhyNotJoined(RegionGraph& graph, const Instruction& call, const Instruction& kernel) {
  if (const std::string_view why = WhyNotSums(kernel, call); !why.empty()) return why;
  if (graph.LaunchesOf(call).size() != 1) return "the convolution is already in a region with another kernel";
  if (std::ranges::find(graph.launches(), &call) == graph.launches().end())
    return "the convolution has control dependencies, or an effect besides its value";
  return graph.CanJoin(call, kernel) ? "" : "one depends on the other through a third launch";
}

bool IsForward(const Instruction& call) {
  if (!IsFusion(call) || LibraryOf(call) != "convolution" || HasPlan(call)) return false;
  const Instruction* const convolution = ConvolutionOf(call);
  if (convolution == nullptr) return false;
  const Shape& shape = call.shape();
  return shape.IsArray() && (shape.type() == PrimitiveType::kF16 || shape.type() == PrimitiveType::kBF16) &&
         SameDims(shape, convolution->shape()) &&
         shape.layout().minor_to_major.front() == convolution->attrs<ConvolutionAttrs>().dim_labels.out_feature;
}

bool FuseInto(Computation& computation) {
  const bool logs = LOGS_WHY();
  RegionGraph graph(computation);
  for (const Instruction* kernel : graph.launches()) {
    for (const Instruction* call : graph.Producers(*kernel)) {
      if (!IsForward(*call)) continue;
      const std::string_view why_not = WhyNotJoined(graph, *call, *kernel);
      if (why_not.empty()) graph.Join(*call, *kernel);
      if (!logs) continue;
      const bool joins = why_not.empty();
      LogWhy("statistics-fusion", *kernel, Str(joins ? "=> one region with " : "stays apart from ", call->name()),
             joins ? "a library can add up the results of a convolution for each channel" : why_not);
    }
  }
  return graph.Build("statistics", [](const std::vector<Instruction*>& group) { return group.size() > 1; });
}

}  // namespace

Result<bool> FuseStatistics(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= FuseInto(*computation);
  return changed;
}

}  // namespace hlo
