#include "driver/run/scopes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/pattern.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/timeline.h"
#include "ir/instruction.h"
#include "ir/side_effects.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

// Computations that hold parts, the only called ones, because other calls were inlined.
constexpr std::string_view kCompiled = "scope_compiled", kByOp = "scope_op_by_op";

// Whether each pattern matches an instruction: its op_name, the name of its computation, or the name or op_name of a
// caller.
struct Met {
  bool compile = false, interpret = false;
};
using MetById = std::unordered_map<int, Met>;

struct Patterns {
  std::optional<Pattern> compile, interpret;

  Met In(std::string_view text, Met before) const {
    return {before.compile || (compile && compile->FoundIn(text)),
            before.interpret || (interpret && interpret->FoundIn(text))};
  }
  bool IsCompiled(Met met) const { return (!compile || met.compile) && !met.interpret; }
};

MetById MeetAll(const Module& module, const Patterns& patterns) {
  MetById met;
  std::unordered_map<const Computation*, Met> leading;
  const std::vector<Computation*> order = module.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    const Met here = patterns.In(order[i]->name(), leading[order[i]]);
    for (const Instruction* inst : order[i]->instructions()) {
      const Met of = met[inst->id()] = patterns.In(inst->metadata().op_name, here);
      for (const Computation* callee : CalledComputations(*inst)) {
        Met& there = leading[callee];
        there = {there.compile || of.compile, there.interpret || of.interpret};
      }
    }
  }
  return met;
}

// The copies keep their origins.
void Inline(Instruction& call, const std::function<void(const Instruction&, Instruction&)>& on_copy) {
  const Computation& callee = *call.attrs<CallAttrs>().to_apply;
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const Instruction* inst : callee.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst] = &call.operand(inst->parameter_number());
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand]);
    Instruction& copy = call.computation().AddClone(*inst, operands);
    for (Instruction* before : call.control_predecessors()) copy.AddControlPredecessor(*before);
    for (const Instruction* before : inst->control_predecessors()) copy.AddControlPredecessor(*copies[before]);
    copies[inst] = &copy;
    on_copy(*inst, copy);
  }
  call.ReplaceAllUses(*copies[&callee.root()]);
  call.computation().Remove(call);
}

void InlineAll(Module& module, const std::function<void(const Instruction&, Instruction&)>& on_copy) {
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kCall)) Inline(*inst, on_copy);
    }
  }
  module.RemoveUnreachable();
}

// Includes the computations of control flow.
int64_t CountSteps(const Instruction& inst) {
  if (!inst.Is(kControl)) return gpu::IsStep(inst);
  int64_t count = 0;
  for (const Computation* callee : CalledComputations(inst)) {
    for (const Instruction* inner : callee->instructions()) count += CountSteps(*inner);
  }
  return count;
}

// Whether each user may compute the instruction again.
bool CostsNothing(const Instruction& inst) {
  return inst.Is(kElementwise) || inst.Is(Opcode::kBroadcast) || inst.Is(Opcode::kIota);
}

bool HasControlEdges(const Computation& computation) {
  return std::ranges::any_of(computation.Instructions(),
                             [](const Instruction* inst) { return !inst->control_predecessors().empty(); });
}

class Division {
 public:
  Division(Computation& computation, const Patterns& patterns, const MetById& met, ScopesSummary* summary)
      : computation_(computation), patterns_(patterns), met_(met), summary_(summary) {}

  void Run() {
    std::map<int, std::vector<Instruction*>> parts;
    std::vector<std::pair<int, Instruction*>> alone;
    for (Instruction* inst : computation_.PostOrder()) {
      const Side side = side_[inst] = SideOf(*inst);
      int depth = side == Side::kIn;
      if (side == Side::kIn && CostsNothing(*inst) &&
          std::ranges::all_of(inst->operands(), [&](const Instruction* operand) { return IsFree(*operand); }))
        free_.insert(inst);
      // `depth` numbers parts. An instruction in scope with an operand outside begins a further part.
      for (const Instruction* operand : inst->operands()) {
        if (side == Side::kIn && IsFree(*operand)) continue;
        depth = std::max(depth, depth_[operand] + (side == Side::kIn && side_[operand] != Side::kIn));
      }
      depth_[inst] = depth;
      if (side == Side::kIn) parts[depth].push_back(inst);
      if (side == Side::kOut) alone.emplace_back(depth, inst);
    }
    // Makes the calls, operands first. An instruction outside that depends on a part has the depth of that part.
    auto next = alone.begin();
    std::ranges::stable_sort(alone, {}, &std::pair<int, Instruction*>::first);
    for (const auto& [depth, members] : parts) {
      for (; next != alone.end() && next->first < depth; ++next) Call({&next->second, 1}, kByOp);
      Call(members, kCompiled);
    }
    for (; next != alone.end(); ++next) Call({&next->second, 1}, kByOp);
  }

  std::vector<Computation*> Entered() const {
    std::vector<Computation*> entered;
    for (const Instruction* inst : computation_.instructions()) {
      // A new call of a part has no side. An original in a part has the side kIn.
      const auto side = side_.find(inst);
      if (!inst->Is(kControl) || side == side_.end() || side->second != Side::kStays) continue;
      std::ranges::copy(CalledComputations(*inst), std::back_inserter(entered));
    }
    return entered;
  }

 private:
  enum class Side : uint8_t { kStays, kIn, kOut };

  bool IsCompiled(const Instruction& inst) const {
    const auto met = met_.find(inst.id());
    return patterns_.IsCompiled(met != met_.end() ? met->second : Met());
  }

  bool IsCompiledWhole(const Instruction& inst) const {
    if (gpu::IsStep(inst) && !IsCompiled(inst)) return false;
    if (!inst.Is(kControl)) return true;
    return IsCompiled(inst) && std::ranges::all_of(CalledComputations(inst), [&](const Computation* callee) {
             return !HasControlEdges(*callee) &&
                    std::ranges::all_of(callee->Instructions(),
                                        [&](const Instruction* inner) { return IsCompiledWhole(*inner); });
           });
  }

  Side SideOf(const Instruction& inst) {
    if (inst.Is(Opcode::kParameter) || inst.Is(Opcode::kConstant) || HasSideEffect(inst) || gpu::HasDynamicSizes(inst))
      return Side::kStays;
    if (!inst.control_predecessors().empty() || IsWaitedFor(inst)) return Side::kStays;
    if (inst.Is(Opcode::kTuple) || inst.Is(Opcode::kGetTupleElement)) {
      const bool is_in =
          std::ranges::any_of(inst.operands(),
                              [](const Instruction* operand) { return !operand->Is(Opcode::kConstant); }) &&
          std::ranges::all_of(inst.operands(), [&](const Instruction* operand) {
            return operand->Is(Opcode::kConstant) || side_[operand] == Side::kIn;
          });
      return is_in ? Side::kIn : Side::kStays;
    }
    if (inst.Is(kControl)) return IsCompiledWhole(inst) ? Side::kIn : Side::kStays;
    if (gpu::IsControlOrView(inst) && !IsCompiled(inst)) return Side::kStays;
    return IsCompiled(inst) ? Side::kIn : Side::kOut;
  }

  bool IsWaitedFor(const Instruction& inst) {
    if (!waited_for_) {
      waited_for_.emplace();
      for (const Instruction* other : computation_.instructions())
        waited_for_->insert(other->control_predecessors().begin(), other->control_predecessors().end());
    }
    return waited_for_->contains(&inst);
  }

  // Whether the instruction is in scope and computed from constants only. Each part that reads it computes it again.
  bool IsFree(const Instruction& inst) const { return inst.Is(Opcode::kConstant) || free_.contains(&inst); }

  Instruction& CopyOfFree(Computation& part, const Instruction& inst) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(&CopyOfFree(part, *operand));
    return part.AddClone(inst, operands);
  }

  // Parts that compute a free result again continue to read `result`.
  void TakeInstead(Instruction& result, Instruction& value) {
    if (!IsFree(result)) return result.ReplaceAllUses(value);
    const auto users = result.users();
    for (Instruction* user : std::vector<Instruction*>(users.begin(), users.end())) {
      if (side_[user] == Side::kIn) continue;
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (&user->operand(i) == &result) user->SetOperand(i, value);
      }
    }
    if (result.IsRoot()) computation_.SetRoot(value);
    value.SetOrigin(result.origin());
  }

  void Call(std::span<Instruction* const> members, std::string_view name) {
    const std::unordered_set<const Instruction*> inside(members.begin(), members.end());
    Computation& part = computation_.module().AddComputation(name);
    std::unordered_map<const Instruction*, Instruction*> copies;
    std::vector<Instruction*> operands, results;
    for (Instruction* member : members) {
      std::vector<Instruction*> read;
      for (Instruction* operand : member->operands()) {
        Instruction*& copy = copies[operand];
        if (copy == nullptr && (operand->Is(Opcode::kConstant) || (name == kCompiled && IsFree(*operand)))) {
          copy = &CopyOfFree(part, *operand);
        } else if (copy == nullptr) {
          copy = &part.AddParameter(std::ssize(operands), operand->shape());
          operands.push_back(operand);
        }
        read.push_back(copy);
      }
      copies[member] = &part.AddClone(*member, read);
      const bool is_read = std::ranges::any_of(member->users(), [&](const Instruction* user) {
        return !inside.contains(user) && !(IsFree(*member) && side_[user] == Side::kIn);
      });
      if (is_read || member->IsRoot()) results.push_back(member);
      ScopesSummary::Part& counts = name == kCompiled ? summary_->compiled : summary_->by_op;
      counts.instructions += CountSteps(*member);
    }
    if (results.empty()) results.push_back(members.back());  // The pass `dce` removes the call.
    std::vector<Instruction*> made;
    for (const Instruction* result : results) made.push_back(copies[result]);
    part.SetRoot(made.size() == 1 ? *made.front() : part.AddTuple(made));
    Instruction& call =
        computation_.Add(Opcode::kCall, part.root().shape(), operands, CallAttrs{.to_apply = &part}, "part");
    for (size_t i = 0; i < results.size(); ++i) {
      Instruction& value = results.size() == 1 ? call : computation_.AddGetTupleElement(call, static_cast<int64_t>(i));
      TakeInstead(*results[i], value);
    }
  }

  Computation& computation_;
  const Patterns& patterns_;
  const MetById& met_;
  ScopesSummary* const summary_;
  std::unordered_map<const Instruction*, Side> side_;
  std::unordered_map<const Instruction*, int> depth_;
  std::unordered_set<const Instruction*> free_;
  std::optional<std::unordered_set<const Instruction*>> waited_for_;
};

Status CleanUp(Module& module, std::string_view passes) {
  PipelineOptions options{.passes = std::string(passes)};
  TRY(RunPipeline(module, options));
  return {};
}

void AddIds(const Instruction& inst, std::set<int>* ids) {
  if (!ids->insert(inst.id()).second || !inst.Is(kControl)) return;
  for (const Computation* callee : CalledComputations(inst)) {
    for (const Instruction* inner : callee->instructions()) AddIds(*inner, ids);
  }
}

}  // namespace

Result<Scopes> Scopes::Divide(Module& module, const ScopeOptions& options) {
  Patterns patterns;
  if (!options.compile.empty()) patterns.compile = TRY(Pattern::Compile(options.compile, "scope_compile"));
  if (!options.interpret.empty()) patterns.interpret = TRY(Pattern::Compile(options.interpret, "scope_interpret"));
  MetById met = MeetAll(module, patterns);
  for (const auto& [given, flag, member] : {std::tuple(&options.compile, "scope_compile", &Met::compile),
                                            std::tuple(&options.interpret, "scope_interpret", &Met::interpret)}) {
    if (!given->empty() && std::ranges::none_of(met, [&](const auto& entry) { return entry.second.*member; }))
      FAIL(UsageError("F008", MetNothing(flag, *given,
                                         "no instruction has a matching op_name, and no computation a matching name")));
  }
  // A body called twice has two values, so its instructions have no origin.
  InlineAll(module, [&](const Instruction& from, Instruction& copy) {
    met[copy.id()] = met[from.id()];
    copy.SetOrigin(-1);
  });
  Scopes scopes;
  std::vector<Computation*> pending = {&module.entry()};
  std::unordered_set<const Computation*> seen;
  while (!pending.empty()) {
    Computation& computation = *pending.back();
    pending.pop_back();
    if (!seen.insert(&computation).second) continue;
    Division division(computation, patterns, met, &scopes.divided_);
    division.Run();
    std::ranges::copy(division.Entered(), std::back_inserter(pending));
  }
  TRY(CleanUp(module, "dce"));
  return scopes;
}

Status Scopes::Join(Module& module) {
  InlineAll(module, [&](const Instruction& from, Instruction& copy) {
    const std::string& name = from.computation().name();
    if (name.starts_with(kCompiled)) AddIds(copy, &compiled_);
    if (name.starts_with(kByOp)) AddIds(copy, &by_op_);
  });
  return CleanUp(module, "tuple-simplifier,dce,gpu-schedule");
}

std::optional<bool> Scopes::IsCompiled(const Instruction& step) const {
  if (compiled_.contains(step.id())) return true;
  if (by_op_.contains(step.id())) return false;
  return std::nullopt;
}

ScopesSummary Scopes::Summary(std::span<const gpu::StepInfo> steps) const {
  ScopesSummary summary = divided_;
  for (const gpu::StepInfo& step : steps) {
    if (const auto is_compiled = IsCompiled(*step.instruction))
      ++(*is_compiled ? summary.compiled : summary.by_op).steps;
  }
  return summary;
}

Status TimeScopes(gpu::Executable& executable, const Scopes& scopes, ScopesSummary* summary) {
  constexpr size_t kRuns = 3;
  std::vector<double> compiled(kRuns), by_op(kRuns);
  for (size_t run = 0; run < kRuns; ++run) {
    gpu::Timeline timeline;
    TRY(executable.MakeReady());
    TRY(executable.Execute({.timeline = &timeline, .record = false}));
    for (const gpu::TimelineEvent& event : timeline.events) {
      if (event.kind != gpu::TimelineEvent::Kind::kStep || event.step < 0) continue;
      const auto is_compiled = scopes.IsCompiled(*executable.steps()[event.step].instruction);
      if (is_compiled) (*is_compiled ? compiled : by_op)[run] += static_cast<double>(event.end - event.begin) * 1e-6;
    }
  }
  std::ranges::sort(compiled);
  std::ranges::sort(by_op);
  summary->compiled.ms = compiled[kRuns / 2];
  summary->by_op.ms = by_op[kRuns / 2];
  return {};
}

std::string ToString(const ScopesSummary& scopes) {
  const auto part = [](const ScopesSummary::Part& of) {
    return Str(Counted(of.instructions, "instruction"), " in ", Counted(of.steps, "step"), ", ",
               HumanMilliseconds(of.ms));
  };
  return Str("compiled: ", part(scopes.compiled), "; op by op: ", part(scopes.by_op),
             ", each instruction a kernel or call of its own");
}

}  // namespace hlo
