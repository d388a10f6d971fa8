#include "driver/run/partition_values.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "interp/devices/parts.h"
#include "ir/instruction.h"
#include "ir/mesh/parts.h"
#include "judge/bounds/exact_plan.h"

namespace hlo {
namespace {

// The id of an instruction, and the number of its executions before this one.
using Execution = std::pair<int, size_t>;

// A device's part of a value, without padding.
struct PartOfValue {
  int64_t device;
  Literal expected, actual;
};

class PartSearch {
 public:
  PartSearch(const PartitionedPair& pair, InterpretOptions interpret, const CompareOptions& compare)
      : pair_(pair), interpret_(std::move(interpret)), compare_(compare), by_id_(pair.whole.id_limit(), nullptr) {
    for (const Computation* computation : pair.whole.Computations()) {
      for (const Instruction* inst : computation->instructions()) by_id_[inst->id()] = inst;
    }
    for (const auto& [whole, local] : pair.parts) wholes_of_[local].push_back(whole);
  }

  std::optional<WrongPart> Find() {
    interpret_.on_device = [&](int64_t device) { device_ = device; };
    interpret_.on_value = [&](const Instruction& inst, const Literal& value) { Keep(inst, value); };
    if (!pair_.run(pair_.whole, interpret_)) return std::nullopt;
    device_ = 0;
    executed_.clear();
    interpret_.on_value = [&](const Instruction& inst, const Literal& value) { Compare(inst, value); };
    // A run that fails may have computed wrong values before.
    std::ignore = pair_.run(pair_.local, interpret_);
    for (const Execution& execution : order_) {
      if (!different_.contains(execution) && compared_[execution] == Devices()) equal_.insert(execution);
    }
    for (const auto judge : {&PartSearch::Proven, &PartSearch::BeyondTolerance}) {
      for (const Execution& execution : order_) {
        const auto part = different_.find(execution);
        // The caller computes the value of a parameter.
        if (part == different_.end() || by_id_[execution.first]->Is(Opcode::kParameter)) continue;
        if (auto wrong = (this->*judge)(execution, part->second)) return wrong;
      }
    }
    return std::nullopt;
  }

 private:
  int64_t Devices() const { return pair_.whole.header.replica_count * pair_.whole.header.num_partitions; }

  void Keep(const Instruction& inst, const Literal& value) {
    const Execution execution = {inst.id(), executed_[{inst.id(), device_}]++};
    int64_t bytes = 0;
    ForEachLeaf(value.shape(), [&](const ShapeIndex&, const Shape& leaf) { bytes += leaf.ByteSize(); });
    if (bytes > room_) return;
    room_ -= bytes;
    const auto [values, is_new] = kept_.try_emplace(execution);
    if (is_new) order_.push_back(execution);
    values->second.emplace(device_, value);
  }

  // Null if the value was not kept.
  const Literal* KeptAt(const Execution& execution, int64_t device) const {
    const auto values = kept_.find(execution);
    if (values == kept_.end()) return nullptr;
    const auto own = values->second.find(device);
    return own == values->second.end() ? &values->second.begin()->second : &own->second;
  }

  void Compare(const Instruction& inst, const Literal& value) {
    const auto wholes = wholes_of_.find(inst.id());
    if (wholes == wholes_of_.end()) return;
    for (const int id : wholes->second) {
      const Execution execution = {id, executed_[{id, device_}]++};
      const Literal* const whole = KeptAt(execution, device_);
      if (whole == nullptr) continue;
      leaf_ = 0;
      std::optional<PartOfValue> part = Cut(*by_id_[id], *whole, value);
      if (!part) continue;
      ++compared_[execution];
      if (CompareBitwise(part->expected, part->actual, compare_).verdict == Verdict::kMatch) continue;
      const auto [kept, is_new] = different_.try_emplace(execution, std::move(*part));
      if (!is_new && !IsBeyondTolerance(kept->second) && IsBeyondTolerance(*part)) kept->second = std::move(*part);
    }
  }

  // The device's part of the whole, leaf by leaf. nullopt if a sharding does not determine the part.
  std::optional<PartOfValue> Cut(const Instruction& inst, const Literal& whole, const Literal& local) {
    PartOfValue part = {device_, whole, local};
    if (whole.shape().IsTuple()) {
      for (size_t i = 0; i < whole.elements().size(); ++i) {
        auto element = Cut(inst, whole.elements()[i], local.elements()[i]);
        if (!element) return std::nullopt;
        part.expected.mutable_elements()[i] = std::move(element->expected);
        part.actual.mutable_elements()[i] = std::move(element->actual);
      }
      return part;
    }
    const Sharding* const stated = ShardingOfLeaf(inst, leaf_++);
    if (!whole.shape().IsArray()) return part;
    const int64_t partitions = pair_.whole.header.num_partitions;
    const auto table =
        PartTable::Make(stated == nullptr ? Sharding{.kind = ShardingKind::kReplicated} : WithoutManual(*stated),
                        whole.shape().rank(), partitions);
    if (!table) return std::nullopt;
    const std::vector<int64_t> sizes = table->PartOf(device_ % partitions, whole.shape().dims()).size;
    part.expected = WithoutPadding(CutPart(whole, local.shape(), *table, device_ % partitions), sizes);
    part.actual = WithoutPadding(local, sizes);
    return part;
  }

  // In manual regions, values of the whole program are parts of a device already.
  static Sharding WithoutManual(Sharding sharding) {
    if (sharding.kind == ShardingKind::kManual) sharding.kind = ShardingKind::kReplicated;
    if (sharding.kind == ShardingKind::kTiled)
      std::ranges::replace(sharding.tiles.Mutable().subgroups, ShardingKind::kManual, ShardingKind::kReplicated);
    return sharding;
  }

  std::optional<WrongPart> Proven(const Execution& execution, const PartOfValue& part) {
    const Instruction& inst = *by_id_[execution.first];
    if (inst.Is(kControl)) return std::nullopt;
    std::vector<Literal> operands;
    for (const Instruction* operand : inst.operands()) {
      const Execution before = {operand->id(), operand->Is(kHoldsLiteral) ? 0 : execution.second};
      if (!operand->Is(kHoldsLiteral) && !equal_.contains(before)) return std::nullopt;
      operands.push_back(operand->Is(kHoldsLiteral) ? operand->literal() : *KeptAt(before, part.device));
    }
    Comparison comparison = CompareBitwise(part.expected, part.actual, compare_);
    if (!inst.Is(kElementwise)) {
      if (!ExactPlan::WhyRounds(inst, operands, *KeptAt(execution, part.device)).empty()) return std::nullopt;
      // The order of a sum decides the sign of a zero.
      comparison = CompareTolerance(part.expected, part.actual, Tolerance(), compare_);
    }
    if (comparison.verdict != Verdict::kMismatch) return std::nullopt;
    // One program may multiply zeros where the other one has padding.
    const bool has_nan = std::ranges::any_of(
        comparison.outputs, [](const TensorComparison& output) { return output.nan_actual != output.nan_expected; });
    if (inst.Is(Opcode::kConvolution) && has_nan) return std::nullopt;
    return WrongPart{&inst, part.device, std::move(comparison), /*is_proven=*/true};
  }

  Comparison WithinTolerance(const PartOfValue& part) const {
    return CompareTolerance(part.expected, part.actual, {}, compare_);
  }
  bool IsBeyondTolerance(const PartOfValue& part) const { return WithinTolerance(part).verdict == Verdict::kMismatch; }

  std::optional<WrongPart> BeyondTolerance(const Execution& execution, const PartOfValue& part) {
    Comparison comparison = WithinTolerance(part);
    if (comparison.verdict != Verdict::kMismatch) return std::nullopt;
    return WrongPart{by_id_[execution.first], part.device, std::move(comparison), /*is_proven=*/false};
  }

  const PartitionedPair& pair_;
  InterpretOptions interpret_;
  const CompareOptions& compare_;
  std::vector<const Instruction*> by_id_;
  std::map<int, std::vector<int>> wholes_of_;  // Keyed by the id of the local instruction.
  int64_t device_ = 0, leaf_ = 0;
  int64_t room_ = DefaultMemoryLimit() / 6;
  std::map<std::pair<int, int64_t>, size_t> executed_;    // Keyed by id and device, for one run.
  std::map<Execution, std::map<int64_t, Literal>> kept_;  // By device. A single entry is for all devices.
  std::vector<Execution> order_;                          // The kept values as they were computed.
  std::map<Execution, int64_t> compared_;                 // Number of devices whose part was compared.
  std::map<Execution, PartOfValue> different_;  // A part with other bits, if possible one beyond the tolerance.
  std::set<Execution> equal_;                   // All parts have the whole value's bits.
};

}  // namespace

std::optional<WrongPart> FindWrongPart(const PartitionedPair& pair, InterpretOptions interpret,
                                       const CompareOptions& compare) {
  return PartSearch(pair, std::move(interpret), compare).Find();
}

}  // namespace hlo
