#include "gpu/kernel/steering.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace hlo::kernel {
namespace {

// Marks values backwards from addresses and bounds.
class Finder {
 public:
  Finder(const Kernel& kernel, std::vector<bool> arrays) : kernel_(kernel), definitions_(kernel.values) {
    Define(kernel.body);
    arrays.resize(kernel.arrays.size());
    found_ = {.values = std::vector<bool>(kernel.values),
              .slots = std::vector<bool>(kernel.slots.size()),
              .variables = std::vector<bool>(kernel.variables.size()),
              .arrays = std::move(arrays)};
  }

  Steering Find() && {
    do {
      changed_ = false;
      Visit(kernel_.body);
    } while (changed_);
    return std::move(found_);
  }

 private:
  void Mark(std::vector<bool>& set, int64_t number) {
    if (set[number]) return;
    set[number] = changed_ = true;
  }
  void MarkOperands(const Instruction& instruction) {
    for (const int32_t operand : instruction.operands) Mark(found_.values, operand);
  }
  void MarkOperands(const Instruction& instruction, std::initializer_list<size_t> which) {
    for (const size_t i : which) Mark(found_.values, instruction.operands[i]);
  }

  void Visit(const Region& region) {
    for (auto instruction = region.body.rbegin(); instruction != region.body.rend(); ++instruction) {
      MarkRoots(*instruction);
      MarkSources(*instruction);
      for (const Region& inner : instruction->regions) Visit(inner);
    }
  }

  void MarkRoots(const Instruction& instruction) {
    switch (instruction.op) {
      case Op::kLoad:
      case Op::kLoadVector:
      case Op::kStore:
      case Op::kStoreVector:
      case Op::kAtomic:
      case Op::kAtomicFetch:
      case Op::kAtomicCas: return MarkOperands(instruction, {0});
      case Op::kStoreMember: return MarkOperands(instruction, {0, 2});
      case Op::kLoadMember:
      case Op::kLoadCluster:
      case Op::kLoadTransposed:
      case Op::kLoadFragment:
      case Op::kTransposeTile:
      case Op::kCopyAsync:
      case Op::kLoop:
      case Op::kTile:
      case Op::kSetCondition:
      case Op::kWarpBroadcast: return MarkOperands(instruction);
      case Op::kArrive: Mark(found_.arrays, instruction.imm); return MarkOperands(instruction);
      case Op::kWhile: return MarkCondition(instruction.regions[0].yields[0]);
      case Op::kIf:
        if (std::ranges::none_of(instruction.regions, [&](const Region& inner) { return Steers(inner); })) return;
        if (RaisesFlag(instruction)) return MarkCondition(instruction.operands[0]);
        return MarkOperands(instruction);
      case Op::kShuffle:
        if (instruction.slots.size() > 2) Mark(found_.slots, instruction.slots[2]);
        return;
      default: return;
    }
  }

  // A loop ends once one operand of a conjunction is false, so if comparisons of integers count its trips, comparisons
  // of floats are not marked.
  void MarkCondition(int32_t condition) {
    std::vector<int32_t> conjuncts = {condition}, floats;
    bool counts = false;
    for (size_t i = 0; i < conjuncts.size(); ++i) {
      const Instruction* const at = definitions_[conjuncts[i]];
      const auto visit = [&](int32_t value) {
        if (std::ranges::find(conjuncts, value) == conjuncts.end()) conjuncts.push_back(value);
      };
      if (at != nullptr && at->op == Op::kAnd) {
        for (const int32_t operand : at->operands) visit(operand);
        continue;
      }
      if (at != nullptr && at->op == Op::kVariableGet) {
        for (const auto& [variable, value] : sets_) {
          if (variable == at->imm) visit(value);
        }
        continue;
      }
      const bool compares = at != nullptr && at->op >= Op::kEqual && at->op <= Op::kGreaterEqual;
      const Instruction* const compared = compares ? definitions_[at->operands[0]] : nullptr;
      if (compared != nullptr && IsFloat(compared->type)) {
        floats.push_back(conjuncts[i]);
        continue;
      }
      counts = counts || compared != nullptr;
      Mark(found_.values, conjuncts[i]);
    }
    for (size_t i = 0; i < floats.size() && !counts; ++i) Mark(found_.values, floats[i]);
  }

  // Whether a branch sets only constants, like the one that stops a loop after too many trips.
  bool RaisesFlag(const Instruction& branch) const {
    const auto is_constant = [&](int32_t value) {
      return definitions_[value] != nullptr && definitions_[value]->op == Op::kConstant;
    };
    return branch.regions.size() == 1 && std::ranges::all_of(branch.regions[0].body, [&](const Instruction& inner) {
             if (inner.op == Op::kConstant || inner.op == Op::kBarrier) return true;
             return (inner.op == Op::kVariableSet || inner.op == Op::kStore) &&
                    std::ranges::all_of(inner.operands, is_constant);
           });
  }

  void Define(const Region& region) {
    for (const Instruction& instruction : region.body) {
      for (int i = 0; i < Results(instruction); ++i) definitions_[instruction.result + i] = &instruction;
      if (instruction.op == Op::kVariableSet) sets_.emplace_back(instruction.imm, instruction.operands[0]);
      for (const Region& inner : instruction.regions) Define(inner);
    }
  }

  void MarkSources(const Instruction& instruction) {
    const bool is_combination = !instruction.regions.empty() && !instruction.slots.empty();
    if (is_combination) return MarkCombination(instruction);
    bool steers = false;
    for (int i = 0; i < Results(instruction); ++i) steers = steers || found_.values[instruction.result + i];
    switch (instruction.op) {
      case Op::kSlotSet: steers = found_.slots[instruction.imm]; break;
      case Op::kVariableSet: steers = found_.variables[instruction.imm]; break;
      case Op::kSlotGet:
        if (steers) Mark(found_.slots, instruction.imm);
        break;
      case Op::kVariableGet:
        if (steers) Mark(found_.variables, instruction.imm);
        break;
      case Op::kCopyAsync:
        if (found_.arrays[instruction.imm]) Mark(found_.arrays, instruction.imm2);
        break;
      case Op::kLoadFragment:
        if (found_.slots[instruction.slots[0]]) Mark(found_.arrays, instruction.imm);
        break;
      default:
        if (InfoOf(instruction.op).effects & kWrites) steers = steers || found_.arrays[instruction.imm];
        if (steers && (InfoOf(instruction.op).effects & kReads)) Mark(found_.arrays, instruction.imm);
    }
    // The first slot gets a value computed from the others.
    if (!instruction.slots.empty() && (steers || found_.slots[instruction.slots[0]])) {
      for (const int32_t slot : instruction.slots) Mark(found_.slots, slot);
    }
    if (steers) MarkOperands(instruction);
  }

  // One steering value makes all slots of a collective steer.
  void MarkCombination(const Instruction& collective) {
    bool steers = false;
    for (int i = 0; i < Results(collective); ++i) steers = steers || found_.values[collective.result + i];
    for (const int32_t slot : collective.slots) steers = steers || found_.slots[slot];
    for (const int32_t argument : collective.regions[0].arguments) steers = steers || found_.values[argument];
    if (!steers) return;
    for (const int32_t slot : collective.slots) Mark(found_.slots, slot);
    for (const int32_t value : collective.regions[0].yields) Mark(found_.values, value);
  }

  bool Steers(const Region& region) const {
    return std::ranges::any_of(region.body, [&](const Instruction& instruction) {
      switch (instruction.op) {
        case Op::kArrive:
        case Op::kSetCondition:
        case Op::kWhile: return true;
        case Op::kSlotSet: return static_cast<bool>(found_.slots[instruction.imm]);
        case Op::kVariableSet: return static_cast<bool>(found_.variables[instruction.imm]);
        default: break;
      }
      if ((InfoOf(instruction.op).effects & kWrites) && found_.arrays[instruction.imm]) return true;
      for (const int32_t slot : instruction.slots) {
        if (found_.slots[slot]) return true;
      }
      return std::ranges::any_of(instruction.regions, [&](const Region& inner) { return Steers(inner); });
    });
  }

  const Kernel& kernel_;
  // Null for arguments of regions.
  std::vector<const Instruction*> definitions_;
  std::vector<std::pair<int64_t, int32_t>> sets_;
  Steering found_;
  bool changed_ = false;
};

}  // namespace

Steering FindSteering(const Kernel& kernel, std::vector<bool> arrays) {
  return Finder(kernel, std::move(arrays)).Find();
}

}  // namespace hlo::kernel
