// Warnings about modules that are valid but seldom intended.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/text.h"
#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/trip_count.h"
#include "ir/device_groups.h"
#include "ir/reducer.h"
#include "ir/shapes/shape_checks.h"
#include "ir/side_effects.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

Status WarnOfCarried(const Instruction& loop) {
  const WhileAttrs& a = loop.attrs<WhileAttrs>();
  const Instruction& next = a.body->root();
  const auto only_elements = [](const Instruction& tuple) {
    return std::all_of(tuple.users().begin(), tuple.users().end(),
                       [](const Instruction* user) { return user->Is(Opcode::kGetTupleElement); });
  };
  const Instruction& state = a.body->parameter(0);
  const Instruction& asked = a.condition->parameter(0);
  if (!next.Is(Opcode::kTuple) || loop.IsRoot() || !only_elements(loop) || !only_elements(state) ||
      !only_elements(asked))
    return {};
  std::vector<int> readers(next.operand_count());  // Readers besides the body's root.
  const auto count = [&](const Instruction& tuple) {
    for (const Instruction* element : tuple.users()) ++readers[element->tuple_index()];
  };
  count(loop);
  count(asked);
  for (const Instruction* element : state.users()) {
    const int64_t i = element->tuple_index();
    const bool passed = &next.operand(i) == element && element->UseCount() == 1;
    readers[i] += passed ? 0 : 1;
  }
  for (int64_t i = 0; i < next.operand_count(); ++i) {
    const Instruction& element = next.operand(i);
    const bool passed =
        element.Is(Opcode::kGetTupleElement) && &element.operand(0) == &state && element.tuple_index() == i;
    if (!passed || readers[i] > 0) continue;
    FAIL(ErrorAtOpcode(loop, "W001",
                       Str("the loop carries element ", i, ", ", element.shape(), ", but nothing reads it")));
  }
  return {};
}

bool IsArithmetic(const Instruction& inst) {
  return (inst.Is(kElementwise) && !inst.Is(Opcode::kConvert) && !inst.Is(Opcode::kCopy)) || inst.Is(Opcode::kDot);
}

Status WarnOfDoubles(const Instruction& inst) {
  if (!IsArithmetic(inst) || inst.shape().type() != PrimitiveType::kF64) return {};
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& from = inst.operand(i);
    if (from.Is(Opcode::kConvert) && from.operand(0).shape().type() == PrimitiveType::kF32)
      FAIL(
          ErrorAtOperand(inst, i, "W003", Str("f64 '", inst.opcode(), "' has an operand that was converted from f32")));
  }
  return {};
}

bool Applies(const Computation& f, Opcode opcode) {
  return f.root().Is(opcode) && f.root().operand_count() == 2 && f.root().operand(0).Is(Opcode::kParameter) &&
         f.root().operand(1).Is(Opcode::kParameter);
}

// Warns of sums and products only: for minima and maxima, a repeated initial value changes nothing.
Status WarnOfInitialValue(const Instruction& inst) {
  if ((!inst.Is(Opcode::kReduce) && !inst.Is(Opcode::kReduceWindow)) || inst.operand_count() != 2) return {};
  const Computation& f = *CalledComputations(inst)[0];
  const Instruction& init = inst.operand(1);
  const Opcode opcode = f.root().opcode();
  if ((opcode != Opcode::kAdd && opcode != Opcode::kMultiply) || !Applies(f, opcode)) return {};
  const auto identity = static_cast<int64_t>(IdentityOf(opcode, f.root().shape().type())->GetDouble(0));
  if (!init.Is(Opcode::kConstant) || init.IsConstantOf(static_cast<double>(identity))) return {};
  FAIL(ErrorAtOperand(inst, 1, "W006",
                      Str("the initial value of '", opcode, "' is not the identity, ", identity,
                          ", although backends may apply it repeatedly")));
}

Status WarnOfComparator(const Instruction& inst) {
  if (!inst.Is(Opcode::kSort)) return {};
  const Computation& f = *inst.attrs<SortAttrs>().to_apply;
  if (!Applies(f, Opcode::kCompare)) return {};
  const CompareAttrs& a = f.root().attrs<CompareAttrs>();
  const bool strict = a.direction == ComparisonDirection::kLt || a.direction == ComparisonDirection::kGt;
  const bool total = !IsFloat(f.root().operand(0).shape().type()) || a.type == ComparisonType::kTotalOrder;
  if (strict && total) return {};
  FAIL(ErrorAtCallee(inst, "to_apply", "W007",
                     strict ? Str("'", f.name(), "' compares floats and does not order NaN; expected type=TOTALORDER")
                            : Str("'", f.name(), "' compares with ", a.direction, ", expected LT or GT"),
                     f.root()));
}

Status WarnOfDevices(const Instruction& inst) {
  if (!inst.Is(kCollective)) return {};
  const ModuleHeader& header = inst.module().header;
  const int64_t named = DevicesNamed(inst);
  int64_t devices = 0;
  if (__builtin_mul_overflow(header.replica_count, header.num_partitions, &devices) || named <= devices) return {};
  FAIL(ErrorAtAttribute(inst, inst.attributes().GetIf<PermuteAttrs>() ? "source_target_pairs" : "replica_groups",
                        "W008",
                        Str(named, " devices are named, but the module has replica_count=", header.replica_count,
                            " and num_partitions=", header.num_partitions))
           .Hint("set the numbers for a run: hlo-run --num_partitions=N --num_replicas=N"));
}

Status WarnOfShortSums(const Instruction& inst) {
  constexpr int64_t kTerms = 256;
  if (!inst.Is(Opcode::kReduce) || inst.operand_count() != 2) return {};
  const PrimitiveType type = inst.shape().type();
  if (!IsFloat(type) || BitWidth(type) > 16 || !Applies(*inst.attrs<ReduceAttrs>().to_apply, Opcode::kAdd)) return {};
  int64_t terms = 1;
  for (const int64_t d : inst.attrs<ReduceAttrs>().dimensions) {
    if (__builtin_mul_overflow(terms, inst.operand(0).shape().dim(d), &terms)) terms = INT64_MAX;
  }
  if (terms <= kTerms) return {};
  FAIL(ErrorAtOpcode(inst, "W011", Str("a sum of ", terms, " terms accumulates in ", type)));
}

Status WarnOfIndices(const Instruction& inst) {
  const bool slice = inst.Is(Opcode::kDynamicSlice);
  if (!slice && !inst.Is(Opcode::kDynamicUpdateSlice)) return {};
  const Shape& whole = inst.operand(0).shape();
  const Shape& part = slice ? inst.shape() : inst.operand(1).shape();
  const int64_t first = slice ? 1 : 2;
  if (inst.operand_count() != first + whole.rank()) return {};
  for (int64_t d = 0; d < whole.rank(); ++d) {
    const Instruction& index = inst.operand(first + d);
    if (!index.Is(Opcode::kConstant)) continue;
    const int64_t value = IndexAt(index.literal(), 0);
    const int64_t last = whole.dim(d) - part.dim(d);
    if (value >= 0 && value <= last) continue;
    const int64_t bits = index.literal().GetInt(0);
    const bool is_u64 = index.shape().type() == PrimitiveType::kU64;
    FAIL(ErrorAtOperand(inst, first + d, "W012",
                        Str("index ", is_u64 ? Str(static_cast<uint64_t>(bits)) : Str(bits), " of dim ", d,
                            " is clamped to ", value < 0 ? 0 : last)));
  }
  return {};
}

// XLA fills omitted elements with the 32-bit words 0, 1, 2, ..., even if they are floats.
Status WarnOfCounter(const Instruction& inst) {
  constexpr size_t kFewest = 8;
  if (!inst.Is(Opcode::kConstant) || !inst.shape().IsArray() || !IsFloat(inst.shape().type())) return {};
  const std::span<const uint32_t> words = inst.literal().data<uint32_t>();
  if (words.size() < kFewest) return {};
  const auto counts = [](uint32_t word, uint32_t next) { return next == word + 1; };
  if (std::adjacent_find(words.begin(), words.end(), std::not_fn(counts)) != words.end()) return {};
  FAIL(ErrorAtOpcode(inst, "W002",
                     "the elements are the counter with which XLA fills constant({...}), not the real values"));
}

// Whether W009 allows the instruction to have no users.
bool IsFree(const Instruction& inst) {
  return inst.Is(Opcode::kParameter) || inst.Is(Opcode::kGetTupleElement) || inst.Is(Opcode::kAfterAll) ||
         inst.Is(kHoldsLiteral);
}

// The last read of each value in the order of the text. Reads of a view or tuple count as reads of its operands.
class LastReads {
 public:
  explicit LastReads(const Computation& computation) : place_(computation.module().id_limit()) {
    order_ = computation.Instructions();
    for (size_t i = 0; i < order_.size(); ++i) place_[order_[i]->id()] = i;
    last_ = place_;
    for (size_t i = order_.size(); i-- > 0;) {
      const Instruction& inst = *order_[i];
      const bool hands_on = !inst.shape().IsArray() || inst.Is(kView);
      const size_t last = inst.IsRoot() && hands_on ? order_.size() : hands_on ? last_[inst.id()] : i;
      for (const Instruction* operand : inst.operands()) last_[operand->id()] = std::max(last_[operand->id()], last);
    }
  }
  size_t LastReadOf(const Instruction& inst) const { return last_[inst.id()]; }
  size_t PlaceOf(const Instruction& inst) const { return place_[inst.id()]; }

 private:
  std::vector<Instruction*> order_;
  std::vector<size_t> place_, last_;  // Indexed by id.
};

struct BoundaryLeaf {
  const Instruction* value;
  int64_t parameter;
  ShapeIndex index;
};

// Only one level of tuples is searched.
std::vector<BoundaryLeaf> ParameterLeaves(const Computation& entry) {
  std::vector<BoundaryLeaf> leaves;
  for (const Instruction* parameter : entry.parameters()) {
    if (parameter->shape().IsArray()) leaves.push_back({parameter, parameter->parameter_number(), {}});
    for (const Instruction* user : parameter->users()) {
      if (user->Is(Opcode::kGetTupleElement) && user->shape().IsArray())
        leaves.push_back({user, parameter->parameter_number(), {user->tuple_index()}});
    }
  }
  return leaves;
}
std::vector<BoundaryLeaf> ResultLeaves(const Computation& entry) {
  std::vector<BoundaryLeaf> leaves;
  const Instruction& root = entry.root();
  if (root.shape().IsArray()) leaves.push_back({&root, 0, {}});
  for (int64_t i = 0; root.Is(Opcode::kTuple) && i < root.operand_count(); ++i) {
    if (root.operand(i).shape().IsArray()) leaves.push_back({&root.operand(i), 0, {i}});
  }
  return leaves;
}

void WarnOfUnsharedMemory(Findings& findings) {
  constexpr int64_t kWorthSharing = 1 << 20;  // In bytes. A header line does not pay for less memory.
  const Module& module = findings.module();
  const ModuleHeader& header = module.header;
  std::vector<BoundaryLeaf> results = ResultLeaves(module.entry());
  std::erase_if(results, [&](const BoundaryLeaf& result) {
    const auto same = [&](const InputOutputAlias& alias) { return alias.output == result.index; };
    return result.value->Is(Opcode::kParameter) || result.value->shape().ByteSize() < kWorthSharing ||
           std::any_of(header.aliases.begin(), header.aliases.end(), same);
  });
  if (results.empty()) return;
  const LastReads reads(module.entry());
  for (const BoundaryLeaf& leaf : ParameterLeaves(module.entry())) {
    const auto taken = [&](const auto& entry) {
      return entry.parameter == leaf.parameter && entry.parameter_index == leaf.index;
    };
    if (std::any_of(header.aliases.begin(), header.aliases.end(), taken) ||
        std::any_of(header.donors.begin(), header.donors.end(), taken))
      continue;
    const auto fits = std::find_if(results.begin(), results.end(), [&](const BoundaryLeaf& result) {
      return result.value->shape() == leaf.value->shape() &&
             reads.LastReadOf(*leaf.value) < reads.PlaceOf(*result.value);
    });
    if (fits == results.end()) continue;
    Error error = ErrorAt(*leaf.value, "W005",
                          Str("parameter ", leaf.parameter, " ", leaf.value->shape(), " is not used after '",
                              fits->value->name(), "' is written, so they could share memory"));
    findings.Add(*leaf.value, std::move(error).Hint(Str("input_output_alias={ {", Join(fits->index, ","), "}: (",
                                                        leaf.parameter, ", {", Join(leaf.index, ","),
                                                        "}) }, if the caller does not need the parameter")));
    results.erase(fits);
  }
}

}  // namespace

void FindWarnings(Findings& findings) {
  const Module& module = findings.module();
  WarnOfUnsharedMemory(findings);
  FindDeviceWarnings(findings);
  std::unordered_set<const Computation*> called;
  for (const Instruction* inst : findings.notable()) {
    for (const Computation* callee : CalledComputations(*inst)) called.insert(callee);
  }
  for (const Computation* computation : module.Computations()) {
    if (!computation->IsEntry() && !called.contains(computation)) {
      findings.Add(Rejected("W009", Str("nothing calls '", computation->name(), "'"), computation->range));
      continue;
    }
    for (const Instruction* inst : computation->instructions()) {
      if (inst->IsDead() && !IsFree(*inst) && !HasSideEffect(*inst))
        findings.Add(*inst, ErrorAt(*inst, "W009", Str("nothing uses '", inst->name(), "'")));
      if (inst->Is(Opcode::kWhile)) {
        findings.Add(*inst, WarnOfCarried(*inst));
        if (!TripCount(*inst))
          findings.Add(*inst, ErrorAtOpcode(*inst, "W004", "the trip count of the loop is unknown"));
      }
      findings.Add(*inst, WarnOfCounter(*inst));
      findings.Add(*inst, WarnOfDoubles(*inst));
      findings.Add(*inst, WarnOfInitialValue(*inst));
      findings.Add(*inst, WarnOfComparator(*inst));
      findings.Add(*inst, WarnOfDevices(*inst));
      findings.Add(*inst, WarnOfShortSums(*inst));
      findings.Add(*inst, WarnOfIndices(*inst));
    }
  }
}

}  // namespace hlo
