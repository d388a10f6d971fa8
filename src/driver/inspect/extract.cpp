#include "driver/inspect/extract.h"

#include <algorithm>
#include <unordered_set>

#include "base/counted.h"
#include "base/text.h"

namespace hlo {
namespace {

std::string_view WithoutPercent(std::string_view name) { return name.starts_with('%') ? name.substr(1) : name; }

Error NotFound(std::string_view what, std::string_view name, const std::vector<std::string_view>& known) {
  const std::vector<std::string> near = NearNames(name, known);
  return UsageError("F008", Str("the module has no ", what, " '", Escaped(name), "'",
                                near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?")));
}

class Piece {
 public:
  explicit Piece(const Computation& from) : from_(from), module_(std::make_unique<Module>(from.module().name())) {
    module_->source = from.module().source;
    module_->header.stack_frames = from.module().header.stack_frames;
    module_->header.replica_count = from.module().header.replica_count;
    module_->header.num_partitions = from.module().header.num_partitions;
    entry_ = &module_->AddComputation(from.name());
    entry_->execution_thread = from.execution_thread;
    module_->SetEntry(*entry_);
  }

  bool Has(const Instruction& inst) const { return copies_.contains(&inst); }
  Instruction& CopyOf(const Instruction& inst) const { return *copies_.at(&inst); }

  void AddParameterFor(const Instruction& inst) {
    copies_[&inst] =
        &entry_->AddParameter(static_cast<int64_t>(entry_->parameters().size()), inst.shape(), inst.name());
  }
  void AddCopy(const Instruction& inst) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(&CopyOf(*operand));
    copies_[&inst] = &entry_->AddClone(inst, operands);
  }
  void SetResults(const std::vector<const Instruction*>& results) {
    std::vector<Instruction*> copies;
    for (const Instruction* result : results) copies.push_back(&CopyOf(*result));
    entry_->SetRoot(copies.size() == 1 ? *copies.front() : entry_->AddTuple(copies));
  }

  std::unique_ptr<Module> Finish() {
    std::unordered_set<const Computation*> called;
    std::vector<const Computation*> pending;
    const auto look_at = [&](const Computation& computation) {
      for (const Instruction* inst : computation.Instructions()) {
        for (const Computation* callee : CalledComputations(*inst)) {
          if (called.insert(callee).second) pending.push_back(callee);
        }
      }
    };
    look_at(*entry_);
    while (!pending.empty()) {
      const Computation* computation = pending.back();
      pending.pop_back();
      look_at(*computation);
    }
    std::unordered_map<const Computation*, Computation*> copies;
    for (const Computation* computation : from_.module().Computations()) {
      if (called.contains(computation))
        copies[computation] = &module_->CloneComputation(*computation, computation->name());
    }
    for (const Computation* computation : module_->Computations()) {
      for (Instruction* inst : computation->Instructions())
        ForEachCalled(inst->attributes(), [&](Computation*& callee) {
          if (callee != nullptr) callee = copies.at(callee);
        });
    }
    return std::move(module_);
  }

 private:
  const Computation& from_;
  std::unique_ptr<Module> module_;
  Computation* entry_;
  std::unordered_map<const Instruction*, Instruction*> copies_;
};

// Indexed by id: whether an instruction is in `level`, or leads to it in at most `height` steps, or is a constant
// operand of such an instruction.
std::vector<bool> Cone(const Module& module, std::vector<const Instruction*> level, int64_t height) {
  std::vector<bool> inside(module.id_limit());
  for (const Instruction* inst : level) inside[inst->id()] = true;
  for (int64_t depth = 0; !level.empty(); ++depth) {
    std::vector<const Instruction*> next;
    for (const Instruction* inst : level) {
      for (const Instruction* operand : inst->operands()) {
        if (inside[operand->id()] || operand->Is(Opcode::kParameter)) continue;
        const bool is_constant = operand->Is(kHoldsLiteral);
        if (height >= 0 && depth >= height && !is_constant) continue;
        inside[operand->id()] = true;
        next.push_back(operand);
      }
    }
    level = std::move(next);
  }
  return inside;
}

}  // namespace

std::string_view NameInText(const Instruction& inst) {
  std::string_view text = inst.module().source->text();
  text = text.substr(inst.range().begin, inst.range().end - inst.range().begin);
  text = Trim(text.substr(0, text.find('=')));
  if (text.starts_with("ROOT")) text = Trim(text.substr(4));
  return WithoutPercent(text);
}

Result<const Computation*> FindComputation(const Module& module, std::string_view name) {
  name = WithoutPercent(name);
  std::vector<std::string_view> known;
  for (const Computation* computation : module.Computations()) {
    if (computation->name() == name) return computation;
    known.push_back(computation->name());
  }
  FAIL(NotFound("computation", name, known));
}

Result<const Instruction*> FindInstruction(const Module& module, std::string_view name,
                                           const Computation* computation) {
  name = WithoutPercent(name);
  std::vector<const Instruction*> found;
  std::vector<std::string_view> known;
  for (const Computation* candidate : module.Computations()) {
    if (computation != nullptr && candidate != computation) continue;
    for (const Instruction* inst : candidate->Instructions()) {
      if (NameInText(*inst) == name) {
        if (candidate->IsEntry()) return inst;
        found.push_back(inst);
      }
      known.push_back(NameInText(*inst));
    }
  }
  if (found.empty()) FAIL(NotFound("instruction", name, known));
  if (found.size() == 1) return found.front();
  FAIL(UsageError("F008", Str(found.size(), " instructions are called '", Escaped(name), "', the first in '",
                              found[0]->computation().name(), "' and '", found[1]->computation().name(), "'"))
           .Hint("--computation=NAME selects one"));
}

Result<const Instruction*> FindOutput(const Module& module, std::string_view index) {
  const Instruction* at = &module.entry().root();
  std::string_view inner = index;
  if (!inner.starts_with('{') || !inner.ends_with('}'))
    FAIL(UsageError("F004", Str("an output is written {0} or {1,0}, not '", Escaped(index), "'")));
  inner = inner.substr(1, inner.size() - 2);
  if (Trim(inner).empty()) return at;
  for (const std::string_view part : Split(inner, ',')) {
    int64_t element;
    if (!ParseInt(Trim(part), &element))
      FAIL(UsageError("F004", Str("an output is written {0} or {1,0}, not '", Escaped(index), "'")));
    if (!at->Is(Opcode::kTuple))
      FAIL(UsageError("F008", Str("the module has no output ", Escaped(index), ": '", at->name(), "' (", at->opcode(),
                                  ") is not a tuple instruction")));
    if (element < 0 || element >= at->operand_count())
      FAIL(UsageError("F008", Str("the module has no output ", Escaped(index), ": the tuple '", at->name(), "' has ",
                                  Counted(at->operand_count(), "element"))));
    at = &at->operand(element);
  }
  return at;
}

std::unique_ptr<Module> Extract(const Instruction& inst, int64_t height, bool users) {
  std::vector<const Instruction*> results = {&inst};
  if (users && !inst.users().empty()) results.assign(inst.users().begin(), inst.users().end());
  std::vector<const Instruction*> start = results;
  start.push_back(&inst);
  const Computation& from = inst.computation();
  const std::vector<bool> inside = Cone(from.module(), std::move(start), height);

  const std::vector<Instruction*> order = from.PostOrder();
  std::vector<const Instruction*> ends;
  std::vector<bool> is_end(from.module().id_limit());
  const auto add_end = [&](const Instruction& end) {
    if (!is_end[end.id()]) ends.push_back(&end);
    is_end[end.id()] = true;
  };
  for (const Instruction* member : order) {
    if (!inside[member->id()]) continue;
    if (member->Is(Opcode::kParameter)) add_end(*member);
    for (const Instruction* operand : member->operands()) {
      if (!inside[operand->id()]) add_end(*operand);
    }
  }
  std::stable_sort(ends.begin(), ends.end(), [](const Instruction* a, const Instruction* b) {
    const auto number = [](const Instruction* i) {
      return i->Is(Opcode::kParameter) ? i->parameter_number() : INT64_MAX;
    };
    return number(a) < number(b);
  });

  Piece piece(from);
  for (const Instruction* end : ends) piece.AddParameterFor(*end);
  for (const Instruction* member : order) {
    if (inside[member->id()] && !piece.Has(*member)) piece.AddCopy(*member);
  }
  piece.SetResults(results);
  return piece.Finish();
}

std::unique_ptr<Module> Extract(const Computation& computation) {
  Piece piece(computation);
  for (const Instruction* parameter : computation.parameters()) piece.AddParameterFor(*parameter);
  for (const Instruction* inst : computation.PostOrder()) {
    if (!piece.Has(*inst)) piece.AddCopy(*inst);
  }
  piece.SetResults({&computation.root()});
  return piece.Finish();
}

}  // namespace hlo
