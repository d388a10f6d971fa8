#include "passes/rewrite.h"

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "ir/component_type.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/side_effects.h"
#include "ir/text/printer.h"
#include "passes/log_why.h"

namespace hlo {

#define RULES(pass, Rules) std::span<const Rule> Rules();
#include "passes/passes.def"

namespace {

// Limit on rewrites, for each initial instruction. It ends cycles of rules that undo each other.
constexpr int64_t kMostRewritesEach = 50;

constexpr size_t kOpcodes = static_cast<size_t>(Opcode::kElidedConstant) + 1;

// Whether an elementwise instruction or update has floats of several widths, whereas rules assume one type. Other ops
// that move elements get one type when a module is loaded (driver/load.cpp).
bool MixesWidths(const Instruction& inst) {
  constexpr OpcodeSet kConversions = {Opcode::kConvert, Opcode::kBitcastConvert, Opcode::kStochasticConvert};
  if (kConversions.Has(inst.opcode()) || !(inst.Is(kElementwise) || inst.Is(Opcode::kDynamicUpdateSlice))) return false;
  std::optional<PrimitiveType> floats;
  const auto is_another = [&](const Shape& shape) {
    if (!shape.IsArray() || !(IsFloat(shape.type()) || IsComplex(shape.type()))) return false;
    const PrimitiveType type = ComponentType(shape.type());
    return std::exchange(floats, type).value_or(type) != type;
  };
  if (is_another(inst.shape())) return true;
  return std::ranges::any_of(inst.operands(), [&](const Instruction* x) { return is_another(x->shape()); });
}

// Also examines operands, because a rule may match them.
bool MixesWidthsNear(const Instruction& inst, int depth = 3) {
  if (MixesWidths(inst)) return true;
  return depth > 0 &&
         std::ranges::any_of(inst.operands(), [&](const Instruction* x) { return MixesWidthsNear(*x, depth - 1); });
}

class Rewriter {
 public:
  Rewriter(const PassContext& context, std::span<const Rule> rules, const std::source_location& where)
      : context_(context), where_(where), logs_(internal::VlogLevelOf(where.file_name()) >= 2) {
    for (const Rule& rule : rules) {
      RuleBook::Entry* const entry = context.rules == nullptr ? nullptr : &context.rules->entries[rule.id];
      if (entry != nullptr && entry->disabled) continue;
      for (size_t opcode = 0; opcode < kOpcodes; ++opcode) {
        if (rule.roots.Contain(static_cast<Opcode>(opcode))) by_opcode_[opcode].push_back({&rule, entry});
      }
    }
  }

  Result<bool> Run(Computation& computation) {
    Begin(computation);
    bool changed = false;
    while (!worklist_.empty() && !stopped_) {
      Instruction& inst = *worklist_.front();
      worklist_.pop_front();
      queued_[inst.place()] = false;
      if (inst.removed() || (inst.IsDead() && !inst.Is(Opcode::kParameter))) continue;
      changed |= TRY(Rewrite(inst));
    }
    return changed;
  }

 private:
  struct Candidate {
    const Rule* rule;
    RuleBook::Entry* entry;
  };

  void Begin(Computation& computation) {
    const std::vector<Instruction*> start = computation.PostOrder();
    worklist_.assign(start.begin(), start.end());
    queued_.assign(computation.place_limit(), true);
    // Control predecessors stay until dce.
    removes_ = std::ranges::all_of(start, [](const Instruction* inst) { return inst->control_predecessors().empty(); });
    mixes_widths_ = std::ranges::any_of(start, [](const Instruction* inst) { return MixesWidths(*inst); });
    left_ = kMostRewritesEach * static_cast<int64_t>(start.size());
    last_.clear();
    stopped_ = false;
  }

  void Enqueue(Instruction& inst) {
    const size_t places = inst.computation().place_limit();
    if (queued_.size() < places) queued_.resize(places, false);
    if (queued_[inst.place()]) return;
    queued_[inst.place()] = true;
    worklist_.push_back(&inst);
  }

  // False if no rule matches or no fuel is left.
  Result<bool> Rewrite(Instruction& inst) {
    Computation& computation = inst.computation();
    if (mixes_widths_ && MixesWidthsNear(inst)) return false;
    for (const Candidate& candidate : by_opcode_[static_cast<size_t>(inst.opcode())]) {
      if (candidate.entry != nullptr && candidate.entry->fuel <= 0) continue;
      const int first_new = computation.module().id_limit();
      Instruction* replacement = TRY(candidate.rule->function(inst, context_));
      if (replacement == nullptr) continue;
      if (left_ <= 0) NameTheCycle(inst);
      if (left_ <= 0 || !context_.ConsumeFuel()) {
        if (replacement->id() >= first_new) computation.RemoveDeadTree(*replacement);
        stopped_ = true;
        return false;
      }
      --left_;
      Replace(inst, *replacement, first_new, candidate);
      return true;
    }
    return false;
  }

  void Replace(Instruction& inst, Instruction& replacement, int first_new, const Candidate& candidate) {
    // New instructions, the last one first.
    std::vector<Instruction*> made;
    if (replacement.id() >= first_new) made.push_back(&replacement);
    for (size_t i = 0; i < made.size(); ++i) {
      for (Instruction* operand : made[i]->operands()) {
        if (operand->id() >= first_new && std::ranges::find(made, operand) == made.end()) made.push_back(operand);
      }
    }
    if (logs_) Log(*candidate.rule, inst, replacement, made);
    if (candidate.entry != nullptr) {
      ++candidate.entry->rewrites;
      --candidate.entry->fuel;
    }
    last_.push_back(candidate.rule);
    if (last_.size() > kRemembered) last_.pop_front();

    const std::vector<Instruction*> users(inst.users().begin(), inst.users().end());
    const std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
    inst.ReplaceAllUses(replacement);
    if (removes_ && !inst.Is(Opcode::kParameter) && !HasSideEffect(inst)) inst.computation().RemoveDeadTree(inst);
    for (size_t i = made.size(); i-- > 0;) Enqueue(*made[i]);
    for (Instruction* user : users) {
      if (!user->removed()) Enqueue(*user);
    }
    for (Instruction* operand : operands) {
      if (operand->removed() || operand->users().size() > 1) continue;
      for (Instruction* user : operand->users()) Enqueue(*user);
    }
  }

  void Log(const Rule& rule, const Instruction& inst, const Instruction& replacement,
           const std::vector<Instruction*>& made) const {
    std::vector<std::string> after;
    for (size_t i = made.size(); i-- > 0;) after.push_back(ToString(*made[i]));
    if (after.empty()) after.push_back(ToString(replacement));
    LogWhy(rule.id, inst, Str("=> ", Join(after, "; ")), rule.law, where_);
  }

  // Reports the shortest repeated sequence.
  void NameTheCycle(const Instruction& inst) {
    if (context_.rules == nullptr) return;
    size_t period = 1;
    const auto repeats = [&](size_t p) {
      for (size_t i = 0; i + p < last_.size(); ++i) {
        if (last_[i] != last_[i + p]) return false;
      }
      return true;
    };
    while (period < last_.size() && !repeats(period)) ++period;
    std::set<std::string_view> names;
    for (size_t i = last_.size() - period; i < last_.size(); ++i) names.insert(last_[i]->id);
    const std::vector<std::string_view> ids(names.begin(), names.end());
    context_.rules->cycles.push_back(Str(ids.size() == 1 ? "rule " : "rules ", Join(ids, ", "),
                                         ids.size() == 1 ? " repeats" : " repeat", " endlessly at '", inst.name(),
                                         "', ", PlaceOf(inst)));
  }

  static constexpr size_t kRemembered = 16;

  const PassContext& context_;
  const std::source_location where_;
  const bool logs_;
  std::array<std::vector<Candidate>, kOpcodes> by_opcode_;

  // The current computation's state.
  std::deque<Instruction*> worklist_;
  std::vector<bool> queued_;
  bool removes_ = false, stopped_ = false, mixes_widths_ = false;
  int64_t left_ = 0;
  std::deque<const Rule*> last_;
};

// Selectors end at a boundary: "A.resh.1b" starts with A, A.resh and A.resh.1, not with A.re.
bool BeginsWith(std::string_view id, std::string_view selector) {
  if (selector.empty() || !id.starts_with(selector)) return false;
  const std::string_view rest = id.substr(selector.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return rest.empty() || rest.front() == '.' || (is_digit(selector.back()) && !is_digit(rest.front()));
}

}  // namespace

Result<bool> RewriteEach(std::span<Computation* const> computations, const PassContext& context,
                         std::span<const Rule> rules, const std::source_location& where) {
  Rewriter rewriter(context, rules, where);
  bool changed = false;
  for (Computation* computation : computations) changed |= TRY(rewriter.Run(*computation));
  return changed;
}

Result<bool> RewriteEach(Module& module, const PassContext& context, std::span<const Rule> rules,
                         const std::source_location& where) {
  const bool changed = TRY(RewriteEach(module.PostOrder(), context, rules, where));
  if (changed) RemoveUnusedOperands(module);
  return changed;
}

std::span<const RuleSet> AllRules() {
  static const RuleSet kRules[] = {
#define RULES(pass, Rules) {pass, Rules()},
#include "passes/passes.def"
  };
  return kRules;
}

std::vector<const Rule*> FindRules(std::string_view selector) {
  std::vector<const Rule*> found;
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) {
      if (BeginsWith(rule.id, selector)) found.push_back(&rule);
    }
  }
  return found;
}

Error UnknownRule(std::string_view flag, std::string_view selector) {
  std::vector<std::string_view> known;
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) known.push_back(rule.id);
  }
  std::string message = Str(flag, ": no rule '", Escaped(selector), "'");
  const std::vector<std::string> near = NearNames(selector, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  return UsageError("F004", std::move(message)).Hint("'hlo help algebra' lists the rules");
}

}  // namespace hlo
