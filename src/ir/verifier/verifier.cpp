#include "ir/verifier/verifier.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/callees.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"
#include "ir/verifier/rules.h"

namespace hlo {
namespace {

constexpr size_t kMaxErrors = 20;

// V006: docs/verifier.md#mixed-float-types.
bool MayMixFloats(const Instruction& inst) {
  return inst.Is(kExactTypes) || inst.Is(kMixesFloats) || inst.Is(kCollective);
}

class Verifier {
 public:
  Verifier(const Module& module, VerifyLevel level, Verified* verified = nullptr)
      : module_(module), findings_(module, level), verified_(verified), ordered_(module.computation_id_limit()) {
    if (verified == nullptr) return;
    // Some rules depend on the number of devices.
    const ModuleHeader& header = module.header;
    if (verified->replica_count != header.replica_count || verified->num_partitions != header.num_partitions)
      *verified = {.replica_count = header.replica_count, .num_partitions = header.num_partitions};
    verified->computations.resize(module.computation_id_limit());
  }

  Status Run(std::vector<Diagnostic>* warnings) {
    if (CheckStructure() && CheckCallGraph()) {
      fused_.resize(module_.computation_id_limit());
      for (const Instruction* inst : findings_.notable()) {
        if (inst->Is(Opcode::kFusion)) fused_[inst->attrs<FusionAttrs>().calls->id()] = true;
      }
      for (const Computation* computation : module_.Computations()) {
        if (findings_.IsSuspect(*computation)) CheckComputation(*computation);
      }
      CheckFusions(findings_);
      CheckAsyncChains(findings_);
      CheckLayoutConstraints(findings_);
      CheckBufferWriters(findings_);
      CheckHeader(findings_);
      CheckManualAxes(findings_);
      if (findings_.strict()) CheckNames();
      if (findings_.strict() && module_.header.is_scheduled) CheckDeadlocks(findings_);
      if (warnings != nullptr && findings_.empty()) FindWarnings(findings_);
    }
    if (verified_ != nullptr && findings_.empty()) Remember();
    return findings_.Finish(warnings);
  }

 private:
  bool Report(Error error) { return findings_.Add(std::move(error)), false; }
  bool Report(const Instruction& inst, Error error) { return findings_.Add(inst, std::move(error)), false; }

  struct Uses {
    size_t users = 0;
    int64_t ids = 0;  // Sum of the users' ids.
    const Instruction* last = nullptr;
    void Add(const Instruction& user) {
      ++users;
      ids += user.id();
    }
  };

  bool CheckStructure();
  bool IsKnown(const Computation& computation) const;
  bool CheckKnown(const Computation& computation);
  bool CheckOperands(const Computation& computation);
  bool CheckCallees(const Instruction& inst);
  bool CheckUsers(const Computation& computation);
  bool CheckAcyclic(const Computation& computation);
  bool CheckCallGraph();
  void CheckComputation(const Computation& computation);
  Status CheckInstruction(const Instruction& inst);
  Status CheckShape(const Instruction& inst);
  Status CheckElementwise(const Instruction& inst);
  Status CheckPrecision(const Instruction& inst);
  void CheckNames();
  void Remember();

  const Module& module_;
  Findings findings_;
  Verified* const verified_;
  // The module's computations, sorted. Others may have been freed.
  std::vector<Computation*> here_;
  std::vector<bool> fused_, ordered_;  // Indexed by id.
  // Data of the computation that is being checked.
  std::vector<Uses> uses_;   // By place.
  std::vector<int> number_;  // By place.
  std::vector<const Instruction*> operands_;
};

// ---- Structure ---------------------------------------------------------------------------------------------------

bool Verifier::CheckStructure() {
  if (!module_.has_entry()) return Report(Rejected("V008", "the module has no entry computation"));
  here_ = module_.Computations();
  std::ranges::sort(here_);
  for (const Computation* computation : module_.Computations()) {
    const bool sound = IsKnown(*computation)
                           ? CheckKnown(*computation)
                           : CheckOperands(*computation) && CheckUsers(*computation) && CheckAcyclic(*computation);
    if (!sound) return false;
  }
  return findings_.empty();
}

bool Verifier::IsKnown(const Computation& computation) const {
  return verified_ != nullptr && verified_->computations[computation.id()].version == computation.version();
}

// The computation is unchanged, but its callees may have changed, and the module may have become scheduled.
bool Verifier::CheckKnown(const Computation& computation) {
  const Verified::Known& known = verified_->computations[computation.id()];
  findings_.SetSuspect(computation, false);
  for (const Instruction* inst : known.notable) {
    if (!CheckCallees(*inst)) return false;
    findings_.AddNotable(*inst);
  }
  ordered_[computation.id()] = known.is_ordered;
  return known.is_ordered || !module_.header.is_scheduled || CheckAcyclic(computation);
}

bool Verifier::CheckOperands(const Computation& computation) {
  if (!computation.has_root())
    return Report(Rejected("V008", Str("computation '", computation.name(), "' has no root"), computation.range));
  const auto inside = [&](const Instruction& inst) { return &inst.computation() == &computation && !inst.removed(); };
  if (!inside(computation.root()))
    return Report(Rejected("V008", Str("the root of '", computation.name(), "' is not in it"), computation.range));
  for (const Instruction* parameter : computation.parameters()) {
    if (parameter == nullptr)
      Report(Rejected("V051",
                      Str("the parameters of '", computation.name(), "' are not numbered 0 to ",
                          computation.parameters().size() - 1),
                      computation.range));
  }
  uses_.assign(computation.place_limit(), {});
  for (const Instruction* inst : computation.instructions()) {
    const OpRow& row = RowOf(inst->opcode());
    if (row.arity != kVariadic && row.arity != inst->operand_count()) {
      Report(*inst,
             ErrorAtOperandListEnd(*inst, "V001",
                                   Str("'", inst->opcode(), "' takes ", row.arity,
                                       row.arity == 1 ? " operand" : " operands", ", found ", inst->operand_count())));
    }
    for (const Instruction* operand : inst->operands()) {
      if (!inside(*operand))
        return Report(*inst, ErrorAt(*inst, "V008",
                                     Str("operand '", operand->name(), "' of '", inst->name(), "' is not in '",
                                         computation.name(), "'")));
      Uses& of_operand = uses_[operand->place()];
      if (of_operand.last != inst) of_operand.Add(*inst);
      of_operand.last = inst;
    }
    for (const Instruction* before : inst->control_predecessors()) {
      if (!inside(*before))
        return Report(*inst, ErrorAt(*inst, "V267",
                                     Str("control predecessor '", before->name(), "' of '", inst->name(),
                                         "' is not in the same computation")));
    }
    if (MayCall(*inst) && !CheckCallees(*inst)) return false;
    const bool calls = MayCall(*inst) && !CalledComputations(*inst).empty();
    if (calls || IsAsyncPart(*inst) || HasBuffer(inst->shape())) findings_.AddNotable(*inst);
  }
  return true;
}

bool Verifier::CheckCallees(const Instruction& inst) {
  for (Computation* callee : CalledComputations(inst)) {
    if (!std::ranges::binary_search(here_, callee))
      return Report(inst,
                    ErrorAt(inst, "V008", Str("'", inst.name(), "' calls a computation that is not in the module")));
  }
  // Rules use required called computations without a test for null.
  bool missing = false;
  Visit(inst.attributes(), [&]<class A>(const A& attrs) {
    ForEachField<A>([&](const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(attrs.*field.member)>, Computation*>) {
        missing = missing || (field.presence == Presence::kRequired && attrs.*field.member == nullptr);
      }
    });
  });
  return !missing || Report(inst, ErrorAt(inst, "V009", Str("'", inst.name(), "' has no called computation")));
}

// Compares counts of users and sums of their ids. A search would take quadratic time for a long tuple.
bool Verifier::CheckUsers(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    Uses listed;
    for (const Instruction* user : inst->users()) {
      if (&user->computation() == &computation && !user->removed()) listed.Add(*user);
    }
    const Uses& found = uses_[inst->place()];
    if (found.users == inst->users().size() && found.users == listed.users && found.ids == listed.ids) continue;
    return Report(*inst, ErrorAt(*inst, "V008",
                                 Str("the users of '", inst->name(), "' are not those that have it as an operand")));
  }
  return true;
}

// Checks for cycles, and the order of a scheduled module.
bool Verifier::CheckAcyclic(const Computation& computation) {
  const LiveInstructions instructions = computation.instructions();
  int next = 0;
  number_.resize(computation.place_limit());
  for (const Instruction* inst : instructions) number_[inst->place()] = next++;
  bool ordered = true;
  const Instruction* early = nullptr;
  for (const Instruction* inst : instructions) {
    const auto is_later = [&](const Instruction* before) { return number_[before->place()] >= number_[inst->place()]; };
    if (std::any_of(inst->operands().begin(), inst->operands().end(), is_later) ||
        std::any_of(inst->control_predecessors().begin(), inst->control_predecessors().end(), is_later)) {
      ordered = false;
      early = inst;
      break;
    }
  }
  ordered_[computation.id()] = ordered;
  if (ordered) return true;  // An order excludes cycles.
  if (module_.header.is_scheduled) {
    return Report(
        *early, ErrorAt(*early, "V266", Str("'", early->name(), "' is scheduled before an instruction that it needs")));
  }
  std::vector<int>& waiting = number_;
  std::unordered_map<const Instruction*, std::vector<const Instruction*>> controlled;
  std::vector<const Instruction*> ready;
  for (const Instruction* inst : instructions) {
    operands_.assign(inst->operands().begin(), inst->operands().end());
    std::ranges::sort(operands_);
    const auto distinct = std::unique(operands_.begin(), operands_.end()) - operands_.begin();
    waiting[inst->place()] = static_cast<int>(distinct + std::ssize(inst->control_predecessors()));
    for (const Instruction* before : inst->control_predecessors()) controlled[before].push_back(inst);
    if (waiting[inst->place()] == 0) ready.push_back(inst);
  }
  int64_t done = 0;
  while (!ready.empty()) {
    const Instruction* inst = ready.back();
    ready.pop_back();
    ++done;
    for (const Instruction* user : inst->users()) {
      if (--waiting[user->place()] == 0) ready.push_back(user);
    }
    const auto found = controlled.find(inst);
    if (found == controlled.end()) continue;
    for (const Instruction* after : found->second) {
      if (--waiting[after->place()] == 0) ready.push_back(after);
    }
  }
  if (done == computation.InstructionCount()) return true;
  auto stuck = instructions.begin();
  while (waiting[(*stuck)->place()] == 0) ++stuck;
  return Report(**stuck, ErrorAt(**stuck, "V267", Str("'", (*stuck)->name(), "' depends on itself")));
}

// Passes can make a cycle of calls, a text cannot.
bool Verifier::CheckCallGraph() {
  std::vector<int> waiting(module_.computation_id_limit());
  std::vector<std::vector<const Computation*>> callers(module_.computation_id_limit());
  std::vector<const Computation*> ready;
  for (const Instruction* inst : findings_.notable()) {
    for (const Computation* callee : CalledComputations(*inst)) {
      ++waiting[inst->computation().id()];
      callers[callee->id()].push_back(&inst->computation());
    }
  }
  const std::vector<Computation*> computations = module_.Computations();
  for (const Computation* computation : computations) {
    if (waiting[computation->id()] == 0) ready.push_back(computation);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const Computation* computation = ready.back();
    ready.pop_back();
    ++done;
    for (const Computation* caller : callers[computation->id()]) {
      if (findings_.IsSuspect(*computation)) findings_.SetSuspect(*caller, true);
      if (--waiting[caller->id()] == 0) ready.push_back(caller);
    }
  }
  if (done == computations.size()) return true;
  for (const Computation* computation : computations) {
    if (waiting[computation->id()] > 0)
      return Report(Rejected("V163",
                             Str("computation '", computation->name(), "' calls itself, directly or through others"),
                             computation->range));
  }
  return false;
}

// ---- Instructions ------------------------------------------------------------------------------------------------

void Verifier::CheckComputation(const Computation& computation) {
  const bool fused = fused_[computation.id()];
  for (const Instruction* inst : computation.instructions()) {
    if (findings_.Full()) return;
    bool judged = true;
    for (const Instruction* operand : inst->operands()) judged = judged && !findings_.IsWrong(*operand);
    for (const Computation* callee : CalledComputations(*inst)) judged = judged && !findings_.IsWrong(callee->root());
    if (!judged) continue;
    findings_.Add(*inst, CheckInstruction(*inst));
    if (findings_.strict() && !fused && !findings_.IsWrong(*inst))
      findings_.Add(*inst, CheckReshapeMovesNothing(*inst));
    if (!findings_.strict() && !findings_.IsWrong(*inst)) findings_.Add(*inst, CheckExtras(*inst, false));
  }
}

Status Verifier::CheckInstruction(const Instruction& inst) {
  TRY(CheckThreads(inst));
  TRY(CheckTokens(inst));
  TRY(CheckShape(inst));
  TRY(CheckElementwise(inst));
  TRY(CheckComposite(inst));
  TRY(CheckBranchShardings(inst));
  if (inst.Is(kCollective)) TRY(CheckCollective(inst));
  TRY(CheckCustomCall(inst));
  TRY(CheckBufferUse(inst));
  TRY(CheckSharding(inst));
  TRY(CheckLeafAttributes(inst));
  if (!findings_.strict()) return {};
  TRY(CheckExtras(inst, true));
  TRY(CheckPrecision(inst));
  return CheckLayouts(inst);
}

Status Verifier::CheckShape(const Instruction& inst) {
  Status leaves;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    for (int64_t i = 0; i < leaf.rank(); ++i) {
      if (leaf.dim(i) == Shape::kUnbounded && leaves)
        leaves = std::unexpected(ErrorAtResult(inst, "V003", Str("dimension ", i, " of the result is unbounded")));
    }
    std::string fault = LayoutFault(leaf);
    if (!fault.empty() && leaves) leaves = std::unexpected(ErrorAtResult(inst, "V300", std::move(fault)));
  });
  TRY(std::move(leaves));
  const Shape inferred = TRY(InferShape(inst));
  const TypeMatch types = findings_.strict() || inst.Is(kExactTypes) ? TypeMatch::kExact : TypeMatch::kFloatsMayDiffer;
  if (ShapesMatch(inst.shape(), inferred, types)) return {};
  struct Handing {
    Opcode opcode;
    const char *code, *whose;
  };
  constexpr Handing kHandings[] = {{Opcode::kCall, "V142", "the called computation returns"},
                                   {Opcode::kFusion, "V155", "the fused computation returns"},
                                   {Opcode::kOptimizationBarrier, "V162", "the operand is"}};
  const auto handing = std::ranges::find(kHandings, inst.opcode(), &Handing::opcode);
  if (handing != std::end(kHandings)) {
    FAIL(ErrorAtResult(inst, handing->code,
                       Str("result is written ", inst.shape(), ", but ", handing->whose, " ", inferred)));
  }
  FAIL(ErrorAtResult(inst, "V002",
                     Str("'", inst.opcode(), "' is written ", inst.shape(), ", but its operands give ", inferred)));
}

// clamp and select are checked by their shape rules.
Status Verifier::CheckElementwise(const Instruction& inst) {
  if (!inst.Is(kElementwise) || inst.Is(Opcode::kClamp) || inst.Is(Opcode::kSelect) || !inst.shape().IsArray())
    return {};
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i).shape();
    if (SameSizes(operand.dims(), inst.shape().dims())) continue;
    FAIL(ErrorAtOperand(inst, i, "V031",
                        Str("operand ", i, " is ", operand, ", but the result is ", inst.shape(),
                            ": there is no implicit broadcast"))
             .Hint("write a broadcast"));
  }
  return {};
}

Status Verifier::CheckPrecision(const Instruction& inst) {
  if (MayMixFloats(inst)) return {};
  std::optional<PrimitiveType> first;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    Status status;
    ForEachLeaf(inst.operand(i).shape(), [&](const ShapeIndex&, const Shape& leaf) {
      if (!IsFloat(leaf.type())) return;
      if (!first) first = leaf.type();
      if (*first != leaf.type() && status)
        status = std::unexpected(ErrorAtOperand(inst, i, "V006", Str("operands mix ", *first, " and ", leaf.type())));
    });
    TRY(std::move(status));
  }
  return {};
}

void Verifier::Remember() {
  for (const Computation* computation : module_.Computations()) {
    if (!findings_.IsSuspect(*computation)) continue;
    verified_->computations[computation->id()] = {.version = computation->version(),
                                                  .is_ordered = ordered_[computation->id()],
                                                  .is_normal = false,
                                                  .notable = {}};
  }
  for (const Instruction* inst : findings_.notable()) {
    const Computation& computation = inst->computation();
    if (findings_.IsSuspect(computation)) verified_->computations[computation.id()].notable.push_back(inst);
  }
}

const Instruction& FindNamed(const Module& module, std::string_view name) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->name() == name) return *inst;
    }
  }
  CHECK(false, "no instruction is called ", name);
}

// NameTable returns no name twice, so equal names are its fault.
void Verifier::CheckNames() {
  NameSet names;
  for (const Computation* computation : module_.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (names.Insert(names.Prepare(inst->name())) || findings_.Full()) continue;
      Report(ErrorAt(*inst, "V007", Str("two instructions are called '", inst->name(), "'"))
                 .AddNote("the other one", FindNamed(module_, inst->name()).range()));
    }
  }
}

}  // namespace

bool Findings::Full() const { return errors_.size() >= kMaxErrors; }

bool Findings::Add(Error error) {
  bool is_error = false;
  for (Diagnostic& diagnostic : error.diagnostics) {
    const VerifierRule* rule = FindRule(diagnostic.code);
    const RuleLevel level = rule != nullptr ? rule->level : RuleLevel::kText;
    if (level == RuleLevel::kWarning || (level == RuleLevel::kWarned && !strict_)) {
      warnings_.push_back(std::move(diagnostic));
      continue;
    }
    if (level == RuleLevel::kStrict && !strict_) continue;
    is_error = true;
    if (error.exit != ExitCode::kRejected) exit_ = error.exit;
    if (!Full()) errors_.push_back(std::move(diagnostic));
  }
  return is_error;
}

bool Findings::Add(const Instruction& inst, Error error) {
  if (!Add(std::move(error))) return false;
  wrong_[inst.id()] = true;
  return true;
}

void Findings::Add(const Instruction& inst, Status status) {
  if (!status) Add(inst, std::move(status).error());
}

Status Findings::Finish(std::vector<Diagnostic>* warnings) {
  const auto sort = [](std::vector<Diagnostic>& diagnostics) {
    std::stable_sort(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  };
  sort(errors_);
  sort(warnings_);
  if (warnings != nullptr) *warnings = std::move(warnings_);
  if (errors_.empty()) return {};
  Error error(exit_, "", "");
  error.diagnostics = std::move(errors_);
  error.source = module_.source;
  FAIL(std::move(error));
}

Status Verify(const Module& module, VerifyLevel level, std::vector<Diagnostic>* warnings) {
  if (level == VerifyLevel::kOff) return {};
  return Verifier(module, level).Run(warnings);
}

Status VerifyAgain(const Module& module, Verified* verified) {
  return Verifier(module, VerifyLevel::kDefault, verified).Run(nullptr);
}

}  // namespace hlo
