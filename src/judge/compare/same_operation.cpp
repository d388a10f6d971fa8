#include "judge/compare/same_operation.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ir/module.h"

namespace hlo {
namespace {

bool SameComputation(const Computation* a, const Computation* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return Fingerprint(*a) == Fingerprint(*b);
}

template <class T>
bool SameField(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Computation*>) return SameComputation(a, b);
  else if constexpr (std::is_same_v<T, std::vector<Computation*>>) return std::ranges::equal(a, b, SameComputation);
  else return a == b;
}

}  // namespace

bool SameAttributesAndCalls(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode()) return false;
  if (a.Is(Opcode::kConstant)) return a.literal().BitEquals(b.literal());
  if (a.Is(Opcode::kParameter)) return a.parameter_number() == b.parameter_number();
  return Visit(a.attributes(), [&]<class A>(const A& attrs) {
    bool same = true;
    ForEachField<A>(
        [&](const auto& field) { same = same && SameField(attrs.*field.member, b.attrs<A>().*field.member); });
    return same;
  });
}

bool SameOperationAndCalls(const Instruction& a, const Instruction& b) {
  return a.shape() == b.shape() && SameAttributesAndCalls(a, b);
}

bool HasDynamicSize(const Instruction& inst) {
  const auto is_dynamic = [](const Shape& shape) {
    bool dynamic = false;
    ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { dynamic = dynamic || leaf.HasDynamicDims(); });
    return dynamic;
  };
  return is_dynamic(inst.shape()) ||
         std::ranges::any_of(inst.operands(), [&](const Instruction* operand) { return is_dynamic(operand->shape()); });
}

}  // namespace hlo
