// Rules of layouts, checked at strict. Ops that keep layouts: docs/verifier.md#layouts.
#include <algorithm>

#include "base/text.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"
#include "ir/verifier/module_layouts.h"

namespace hlo {
namespace {

constexpr int64_t kHostMemory = 5;
constexpr int64_t kAlternateMemory = 1;

// The first two corresponding arrays with different layouts, or null.
struct Difference {
  const Shape* a = nullptr;
  const Shape* b = nullptr;
};
Difference DifferenceOf(const Shape& a, const Shape& b) {
  if (a.IsArray() && b.IsArray()) return a.layout() != b.layout() ? Difference{&a, &b} : Difference{};
  for (size_t i = 0; i < std::min(a.elements().size(), b.elements().size()); ++i) {
    if (const Difference inside = DifferenceOf(a.element(i), b.element(i)); inside.a != nullptr) return inside;
  }
  return {};
}

// The shapes must be equal except for layouts.
Status CheckSame(const Shape& is, const Shape& expected, Error (*at)(const Instruction&, std::string, std::string),
                 const Instruction& inst, std::string_view what) {
  const Difference other = DifferenceOf(is, expected);
  if (other.a == nullptr) return {};
  FAIL(at(inst, "V290",
          Str(what, is.IsTuple() ? " a tuple with " : " ", other.a->ToStringWithLayout(), ", expected ",
              other.b->ToStringWithLayout())));
}

Status CheckArgument(const Instruction& inst, int64_t i, const Instruction& parameter) {
  const Shape& operand = inst.operand(i).shape();
  const Difference other = DifferenceOf(operand, parameter.shape());
  if (other.a == nullptr) return {};
  FAIL(ErrorAtOperand(inst, i, "V290",
                      Str("operand ", i, operand.IsTuple() ? " has " : " is ", other.a->ToStringWithLayout(),
                          ", but the parameter ", operand.IsTuple() ? "has " : "is ", other.b->ToStringWithLayout()))
           .AddNote("this parameter", NameRange(parameter)));
}

// Compares only equal shapes, because V172 to V176 report others.
Status CheckAsyncState(const Instruction& inst) {
  const Computation* wrapped = inst.attrs<AsyncAttrs>().calls;
  if (inst.Is(Opcode::kAsyncStart)) {
    if (wrapped == nullptr || inst.shape().elements().size() < 2) return {};
    const std::vector<Shape>& bound = inst.shape().element(0).elements();
    for (size_t i = 0; i < std::min({bound.size(), wrapped->parameters().size(), inst.operands().size()}); ++i) {
      const auto k = static_cast<int64_t>(i);
      const Instruction& parameter = wrapped->parameter(k);
      if (Compatible(inst.operand(k).shape(), parameter.shape())) TRY(CheckArgument(inst, k, parameter));
      if (Compatible(bound[i], parameter.shape()))
        TRY(CheckSame(bound[i], parameter.shape(), ErrorAtResult, inst, "the operand in the state is"));
    }
    const Shape& result = inst.shape().element(1);
    if (!Compatible(result, wrapped->root().shape())) return {};
    return CheckSame(result, wrapped->root().shape(), ErrorAtResult, inst, "the state holds");
  }
  if (!inst.Is(Opcode::kAsyncDone) || inst.operand_count() != 1) return {};
  const std::vector<Shape>& state = inst.operand(0).shape().elements();
  if (state.size() < 2 || !Compatible(inst.shape(), state[1])) return {};
  return CheckSame(inst.shape(), state[1], ErrorAtResult, inst, "result is");
}

Status CheckCallLayouts(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kCall:
    case Opcode::kFusion: {
      const Computation& callee = *CalledComputations(inst)[0];
      for (size_t i = 0; i < callee.parameters().size(); ++i) {
        const auto k = static_cast<int64_t>(i);
        if (k < inst.operand_count()) TRY(CheckArgument(inst, k, callee.parameter(k)));
      }
      return CheckSame(inst.shape(), callee.root().shape(), ErrorAtResult, inst, "result is");
    }
    case Opcode::kWhile: {
      const WhileAttrs& a = inst.attrs<WhileAttrs>();
      TRY(CheckArgument(inst, 0, a.body->parameter(0)));
      TRY(CheckArgument(inst, 0, a.condition->parameter(0)));
      TRY(CheckSame(a.body->root().shape(), inst.operand(0).shape(), ErrorAtOpcode, inst, "the body returns"));
      return CheckSame(inst.shape(), inst.operand(0).shape(), ErrorAtResult, inst, "result is");
    }
    case Opcode::kConditional: {
      const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
      for (size_t i = 0; i < branches.size(); ++i) {
        TRY(CheckArgument(inst, static_cast<int64_t>(i) + 1, branches[i]->parameter(0)));
        TRY(CheckSame(branches[i]->root().shape(), inst.shape(), ErrorAtOpcode, inst, "a branch returns"));
      }
      return {};
    }
    case Opcode::kGetTupleElement:
      return CheckSame(inst.shape(), inst.operand(0).shape().element(inst.tuple_index()), ErrorAtResult, inst,
                       "result is");
    case Opcode::kTuple:
      for (int64_t i = 0; i < inst.operand_count(); ++i) {
        const Difference other = DifferenceOf(inst.operand(i).shape(), inst.shape().element(i));
        if (other.a == nullptr) continue;
        FAIL(ErrorAtOperand(inst, i, "V290",
                            Str("operand ", i, " is ", other.a->ToStringWithLayout(), ", but element ", i,
                                " of the result is ", other.b->ToStringWithLayout())));
      }
      return {};
    case Opcode::kAsyncStart:
    case Opcode::kAsyncDone: return CheckAsyncState(inst);
    case Opcode::kOptimizationBarrier:
      return CheckSame(inst.shape(), inst.operand(0).shape(), ErrorAtResult, inst, "result is");
    default: return {};
  }
}

bool KeepsLayout(const Instruction& inst) {
  if (inst.Is(kElementwise)) return !inst.Is(Opcode::kCopy);
  if (inst.Is(Opcode::kAllReduce) || inst.Is(Opcode::kAllReduceStart) || inst.Is(Opcode::kReduceScatter))
    return inst.attrs<CollectiveAttrs>().constrain_layout;
  if (inst.Is(Opcode::kCustomCall)) return inst.attrs<CustomCallAttrs>().target == "LayoutConstraint";
  return inst.Is(kKeepsLayout);
}

Status CheckKept(const Instruction& inst) {
  if (!inst.shape().IsArray() || !KeepsLayout(inst)) return {};
  const Layout& result = inst.shape().layout();
  const bool any_width =
      inst.Is(Opcode::kConvert) || inst.Is(Opcode::kCompare) || inst.Is(Opcode::kIsFinite) || inst.Is(Opcode::kScatter);
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i).shape();
    if (!operand.IsArray() || operand.rank() != inst.shape().rank()) continue;
    const bool width_counts = !any_width && !(inst.Is(Opcode::kSelect) && i == 0);
    if (operand.layout().minor_to_major == result.minor_to_major &&
        (!width_counts || operand.layout().tiling->element_size_in_bits == result.tiling->element_size_in_bits))
      continue;
    FAIL(ErrorAtOperand(inst, i, "V291",
                        Str("operand ", i, " is ", operand.ToStringWithLayout(), ", but the result is ",
                            inst.shape().ToStringWithLayout()))
             .Hint("insert a copy"));
  }
  return {};
}

int64_t MemoryOf(const Shape& shape) { return shape.IsArray() ? shape.layout().tiling->memory_space : 0; }

bool IsConstantCopy(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(Opcode::kCopy)) at = &at->operand(0);
  return at->Is(kHoldsLiteral);
}

Status CheckMemory(const Instruction& inst) {
  const Shape& result = inst.shape();
  const auto moves = [&](const char* code, const Shape& from, std::string_view rule) {
    return ErrorAtResult(
        inst, code,
        Str("'", inst.opcode(), "' ", rule, ": from ", from.ToStringWithLayout(), " to ", result.ToStringWithLayout()));
  };
  switch (inst.opcode()) {
    case Opcode::kBitcast: {
      const Shape& from = inst.operand(0).shape();
      if (from.ByteSize() != result.ByteSize()) {
        FAIL(ErrorAtResult(inst, "V292",
                           Str("bitcast changes ", from.ByteSize(), " bytes (", from, ") to ", result.ByteSize(),
                               " bytes (", result, ")")));
      }
      if ((MemoryOf(from) == kHostMemory) != (MemoryOf(result) == kHostMemory) && !IsConstantCopy(inst.operand(0)))
        FAIL(moves("V293", from, "cannot move data into or out of host memory, S(5)"));
      return {};
    }
    case Opcode::kCopy: {
      const Shape& from = inst.operand(0).shape();
      const bool to_host = MemoryOf(result) == kHostMemory && MemoryOf(from) != kHostMemory;
      const bool from_host = MemoryOf(from) == kHostMemory && MemoryOf(result) != kHostMemory;
      Layout moved = from.layout();
      moved.tiling.Mutable().memory_space = MemoryOf(result);
      if (((to_host || from_host) && from.type() != result.type()) || (from_host && moved != result.layout()))
        FAIL(moves("V294", from,
                   to_host ? "to host memory must keep the element type"
                           : "from host memory must keep the element type and the layout"));
      return {};
    }
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: {
      const bool slice = inst.Is(Opcode::kDynamicSlice);
      const int64_t from = MemoryOf(inst.operand(0).shape());
      const int64_t to = MemoryOf(result);
      const bool wrong = (slice ? from == 0 && to == kHostMemory : from == kHostMemory && to == 0) ||
                         (from == kAlternateMemory && to != kAlternateMemory);
      if (wrong) {
        FAIL(moves("V295", inst.operand(0).shape(),
                   slice ? "cannot move data to host memory, S(5), or out of S(1)"
                         : "cannot move data from host memory, S(5), or out of S(1)"));
      }
      return {};
    }
    default: return {};
  }
}

// Sizes and strides of the dimensions, with contiguous neighbours joined. Two orders are equal exactly if all elements
// have the same places in memory.
std::vector<std::pair<int64_t, int64_t>> OrderOf(const Shape& shape) {
  std::vector<std::pair<int64_t, int64_t>> order;
  const std::vector<int64_t> strides = LayoutStrides(shape);
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    if (!order.empty() && order.back().second == shape.dim(i) * strides[i]) {
      order.back() = {order.back().first * shape.dim(i), strides[i]};
    } else {
      order.emplace_back(shape.dim(i), strides[i]);
    }
  }
  return order;
}

bool MovesNothing(const Shape& from, const Shape& to) {
  return from.NumElements() == 0 || OrderOf(from) == OrderOf(to);
}

}  // namespace

std::string LayoutFault(const Shape& array) {
  const Tiling& tiling = *array.layout().tiling;
  if (!tiling.wrong_order.empty())
    return Str("the layout of ", array.ToStringWithLayout(), " is not a permutation of its dimensions");
  for (const std::vector<int64_t>& tile : tiling.tiles) {
    for (const int64_t size : tile) {
      if (size <= 0 && size != Tiling::kCombine)
        return Str("the layout of ", array.ToStringWithLayout(), " has a tile of size ", size);
    }
  }
  return "";
}

Status CheckLayoutsFit(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      TRY(CheckCallLayouts(*inst));
      TRY(CheckKept(*inst));
    }
  }
  return {};
}

Status CheckLayouts(const Instruction& inst) {
  TRY(CheckCallLayouts(inst));
  TRY(CheckKept(inst));
  TRY(CheckMemory(inst));
  if (inst.Is(Opcode::kScan) && !inst.attrs<ScanAttrs>().is_associative)
    FAIL(ErrorAtOpcode(inst, "V296",
                       "expected is_associative=true; a scan that is not associative can be written as a loop"));
  return {};
}

Status CheckReshapeMovesNothing(const Instruction& inst) {
  if (!inst.Is(Opcode::kReshape) || MovesNothing(inst.operand(0).shape(), inst.shape())) return {};
  FAIL(ErrorAtResult(inst, "V297",
                     Str("reshape from ", inst.operand(0).shape().ToStringWithLayout(), " to ",
                         inst.shape().ToStringWithLayout(), " moves elements"))
           .Hint("insert a copy"));
}

}  // namespace hlo
