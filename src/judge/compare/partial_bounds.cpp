#include "judge/compare/partial_bounds.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "interp/nan_bits.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/slice.h"

namespace hlo {
namespace {

// A slice must have at most 1/16 of the elements and steps: gathering by index takes about ten times as long as adding
// in order.
constexpr int64_t kWorthIt = 16;

bool IsJudgedByElement(const Instruction& inst) {
  const Shape& shape = inst.shape();
  if (shape.IsTuple()) return inst.Is(Opcode::kTuple) && inst.IsRoot();
  if (!shape.IsArray() || IsComplex(shape.type())) return false;
  switch (inst.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kConvolution:
    case Opcode::kDot: return true;
    case Opcode::kReduce: return shadow::CombinerOf(*inst.attrs<ReduceAttrs>().to_apply) != shadow::Combiner::kOther;
    default: return inst.Is(kElementwise) || inst.Is(kMoves);
  }
}

// A leaf without differences has one point, which a slice needs.
std::vector<std::vector<int64_t>> PointsOf(const Literal& actual, const Literal& interpreted, bool strict_nan) {
  std::vector<std::vector<int64_t>> points;
  ForEachLeaf(actual.shape(), [&](const ShapeIndex& index, const Shape&) {
    points.push_back(DifferentElements(actual.At(index), interpreted.At(index), strict_nan));
    if (points.back().empty()) points.back().push_back(0);
  });
  return points;
}

ShadowValue Spread(const ShadowValue& part, std::span<const int64_t> points, const Literal& interpreted) {
  ShadowValue whole = ToShadow(interpreted);
  const auto put = [&](const Literal& from, Literal& to, PrimitiveType type) {
    if (from.byte_size() == 0) return;
    if (to.byte_size() == 0) to = Literal(interpreted.shape().WithType(type));
    const auto width = static_cast<size_t>(ByteWidth(type));
    std::byte* const bytes = to.mutable_raw();
    for (size_t j = 0; j < points.size(); ++j)
      std::memcpy(bytes + static_cast<size_t>(points[j]) * width, from.raw() + j * width, width);
  };
  put(part.value, whole.value, PrimitiveType::kF64);
  put(part.bound, whole.bound, PrimitiveType::kF64);
  put(part.HasLikely() ? part.likely : part.bound, whole.likely, PrimitiveType::kF64);
  put(part.exact, whole.exact, interpreted.shape().type());
  put(part.open, whole.open, PrimitiveType::kPred);
  whole.held = part.held;
  return whole;
}

}  // namespace

std::optional<shadow::Slice> SliceOfDifferences(const Computation& computation, std::span<const Literal> inputs,
                                                const Literal& actual, const Literal& interpreted,
                                                const LocalOptions& options) {
  const auto instructions = computation.Instructions();
  if (!std::ranges::all_of(instructions, [](const Instruction* inst) { return IsJudgedByElement(*inst); }))
    return std::nullopt;
  const std::vector<std::vector<int64_t>> points = PointsOf(actual, interpreted, options.strict_nan);
  int64_t different = 0, elements = 0;
  for (const std::vector<int64_t>& of_leaf : points) different += std::ssize(of_leaf);
  ForEachLeaf(actual.shape(), [&](const ShapeIndex&, const Shape& leaf) { elements += leaf.NumElements(); });
  if (different * kWorthIt > elements) return std::nullopt;
  std::vector<shadow::ConeArgument> arguments;
  for (const Literal& input : inputs) arguments.push_back({.literal = &input});
  const shadow::Cone cone = shadow::ConeOf(computation.root(), arguments, options.plan, nullptr);
  auto slice = shadow::SliceAt(cone, points, cone.steps / kWorthIt);
  return slice ? std::move(*slice) : std::nullopt;
}

Shadow Spread(Shadow part, std::span<const std::vector<int64_t>> points, const Literal& interpreted) {
  if (!interpreted.shape().IsTuple()) {
    part.value = Spread(part.value, points[0], interpreted);
    return part;
  }
  for (size_t i = 0; i < points.size(); ++i)
    part.value.elements[i] = Spread(part.value.elements[i], points[i], interpreted.elements()[i]);
  part.value.shape = interpreted.shape();
  return part;
}

}  // namespace hlo
