#include "ir/verifier.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ir/shape_checks.h"

namespace hlo {
namespace {

constexpr size_t kMaxErrors = 20;

// How a written shape is held against the inferred one. Source: spec/verifier.md 3.19.
enum class TypeMatch { kExact, kFloatsMayDiffer };

bool ShapesMatch(const Shape& a, const Shape& b, TypeMatch types) {
  const bool same_type = types == TypeMatch::kExact ? a.type() == b.type() : SameOrBothFloat(a.type(), b.type());
  if (!same_type || !SameSizes(a.dims(), b.dims()) || a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!ShapesMatch(a.element(i), b.element(i), types)) return false;
  }
  return true;
}

// 3.19 a: ops that hand values on as they are.
bool HasExactTypes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kFusion:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kTuple:
    case Opcode::kWhile: return true;
    default: return false;
  }
}

// What V006 lets mix float types. Source: spec/ops.md 0.4.
bool MayMixFloats(const Instruction& inst) {
  if (HasExactTypes(inst.opcode()) || inst.Is(kCollective)) return true;
  switch (inst.opcode()) {
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kCustomCall:
    case Opcode::kDomain:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReducePrecision:
    case Opcode::kReduceWindow:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kSort: return true;
    default: return false;
  }
}

class Verifier {
 public:
  Verifier(const Module& module, VerifyLevel level)
      : module_(module),
        strict_(level == VerifyLevel::kStrict),
        wrong_(module.id_limit()),
        number_(module.id_limit()) {}

  Status Run() {
    // Each step needs what the one before has made sure of.
    if (!CheckStructure() || !CheckCallGraph()) return Finish();
    for (const Computation* computation : module_.Computations()) CheckComputation(*computation);
    CheckFusions();
    CheckNames();
    CheckHeader();
    return Finish();
  }

 private:
  bool Full() const { return diagnostics_.size() >= kMaxErrors; }

  // Takes the error over; false.
  bool Report(Error error) {
    if (error.exit != ExitCode::kRejected) exit_ = error.exit;
    for (Diagnostic& diagnostic : error.diagnostics) {
      if (!Full()) diagnostics_.push_back(std::move(diagnostic));
    }
    return false;
  }
  bool Report(const Instruction& inst, Error error) {
    wrong_[inst.id()] = true;
    return Report(std::move(error));
  }
  // At the header's attribute `name`, of which the module does not keep the place.
  Error InHeader(const char* code, std::string_view name, std::string message) const {
    SourceRange range;
    if (module_.source != nullptr) {
      const size_t at = module_.source->text().rfind(Str(name, "="), module_.entry().range.begin);
      if (at != std::string_view::npos) range = {static_cast<uint32_t>(at), static_cast<uint32_t>(at + name.size())};
    }
    return Rejected(code, std::move(message), range);
  }

  Status Finish() {
    if (diagnostics_.empty()) return {};
    // In the order of the text, whichever rule found it.
    std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
    Error error(exit_, "", "");
    error.diagnostics = std::move(diagnostics_);
    error.source = module_.source;
    FAIL(std::move(error));
  }

  bool CheckStructure();
  bool CheckAcyclic(const Computation& computation);
  bool CheckCallGraph();
  void CheckComputation(const Computation& computation);
  Status CheckInstruction(const Instruction& inst);
  Status CheckShape(const Instruction& inst);
  Status CheckPrecision(const Instruction& inst);
  Status CheckElementwise(const Instruction& inst);
  Status CheckCalls(const Instruction& inst);
  Status CheckTokens(const Instruction& inst);
  Status CheckAsync(const Instruction& inst);
  Status CheckCollective(const Instruction& inst);
  void CheckFusions();
  void CheckNames();
  void CheckHeader();
  void CheckAliases();

  const Module& module_;
  bool strict_;
  std::vector<bool> wrong_;  // By instruction id.
  std::vector<int> number_;  // By instruction id; for the computation that CheckAcyclic looks at.
  ExitCode exit_ = ExitCode::kRejected;
  std::vector<Diagnostic> diagnostics_;
};

// ---- Structure ---------------------------------------------------------------------------------------------------

bool Verifier::CheckStructure() {
  if (!module_.has_entry()) return Report(Rejected("V008", "the module has no entry computation"));
  std::vector<size_t> uses(module_.id_limit());
  std::vector<const Instruction*> last_user(module_.id_limit());
  std::unordered_set<const Computation*> here;
  for (const Computation* computation : module_.Computations()) here.insert(computation);
  for (const Computation* computation : module_.Computations()) {
    if (!computation->has_root())
      return Report(Rejected("V008", Str("computation '", computation->name(), "' has no root"), computation->range));
    const auto inside = [&](const Instruction& inst) { return &inst.computation() == computation && !inst.removed(); };
    if (!inside(computation->root()))
      return Report(Rejected("V008", Str("the root of '", computation->name(), "' is not in it"), computation->range));
    for (const Instruction* parameter : computation->parameters()) {
      if (parameter == nullptr)
        Report(Rejected("V051",
                        Str("the parameters of '", computation->name(), "' are not numbered 0 to ",
                            computation->parameters().size() - 1),
                        computation->range));
    }
    const std::vector<Instruction*> instructions = computation->Instructions();
    for (const Instruction* inst : instructions) {
      const OpRow& row = RowOf(inst->opcode());
      if (row.arity != kVariadic && row.arity != inst->operand_count()) {
        Report(*inst, ErrorAtOperandListEnd(
                          *inst, "V001",
                          Str("'", inst->opcode(), "' takes ", row.arity, row.arity == 1 ? " operand" : " operands",
                              ", found ", inst->operand_count())));
      }
      for (const Instruction* operand : inst->operands()) {
        if (!inside(*operand))
          return Report(*inst, ErrorAt(*inst, "V008",
                                       Str("operand '", operand->name(), "' of '", inst->name(),
                                           "' is not at hand in '", computation->name(), "'")));
        if (last_user[operand->id()] != inst) ++uses[operand->id()];
        last_user[operand->id()] = inst;
      }
      for (const Instruction* before : inst->control_predecessors()) {
        if (!inside(*before))
          return Report(
              *inst, ErrorAt(*inst, "V267",
                             Str("control predecessor '", before->name(), "' of '", inst->name(), "' is not at hand")));
      }
      for (const Computation* callee : CalledComputations(*inst)) {
        if (!here.contains(callee))
          return Report(
              *inst, ErrorAt(*inst, "V008", Str("'", inst->name(), "' calls a computation that is not in the module")));
      }
      // Rules read called computations without asking.
      bool missing = false;
      Visit(inst->attributes(), [&]<class A>(const A& attrs) {
        ForEachField<A>([&](const auto& field) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(attrs.*field.member)>, Computation*>) {
            missing = missing || (field.presence == Presence::kRequired && attrs.*field.member == nullptr);
          }
        });
      });
      if (missing) return Report(*inst, ErrorAt(*inst, "V009", Str("'", inst->name(), "' lacks a called computation")));
    }
    // Users and operands agree when there are as many of both, and each user has the operand.
    for (const Instruction* inst : instructions) {
      const auto has = [&](const Instruction* user) {
        return inside(*user) &&
               std::find(user->operands().begin(), user->operands().end(), inst) != user->operands().end();
      };
      if (uses[inst->id()] == inst->users().size() && std::all_of(inst->users().begin(), inst->users().end(), has))
        continue;
      return Report(*inst, ErrorAt(*inst, "V008",
                                   Str("the users of '", inst->name(), "' are not those that have it as an operand")));
    }
    if (!CheckAcyclic(*computation)) return false;
  }
  return diagnostics_.empty();
}

// Operands and control predecessors, walked with a stack; and their order when the module is scheduled.
bool Verifier::CheckAcyclic(const Computation& computation) {
  const std::vector<Instruction*> instructions = computation.Instructions();
  for (size_t i = 0; i < instructions.size(); ++i) number_[instructions[i]->id()] = static_cast<int>(i);
  bool ordered = true;
  const Instruction* early = nullptr;
  for (const Instruction* inst : instructions) {
    const auto is_later = [&](const Instruction* before) { return number_[before->id()] >= number_[inst->id()]; };
    if (std::any_of(inst->operands().begin(), inst->operands().end(), is_later) ||
        std::any_of(inst->control_predecessors().begin(), inst->control_predecessors().end(), is_later)) {
      ordered = false;
      early = inst;
      break;
    }
  }
  if (ordered) return true;  // So there is no cycle either.
  if (module_.header.is_scheduled) {
    return Report(*early, ErrorAt(*early, "V266", Str("'", early->name(), "' is scheduled before what it needs")));
  }
  std::vector<int>& waiting = number_;
  std::unordered_map<const Instruction*, std::vector<const Instruction*>> controlled;
  std::vector<const Instruction*> ready;
  for (const Instruction* inst : instructions) {
    std::unordered_set<const Instruction*> distinct(inst->operands().begin(), inst->operands().end());
    waiting[inst->id()] = static_cast<int>(distinct.size() + inst->control_predecessors().size());
    for (const Instruction* before : inst->control_predecessors()) controlled[before].push_back(inst);
    if (waiting[inst->id()] == 0) ready.push_back(inst);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const Instruction* inst = ready.back();
    ready.pop_back();
    ++done;
    for (const Instruction* user : inst->users()) {
      if (--waiting[user->id()] == 0) ready.push_back(user);
    }
    const auto found = controlled.find(inst);
    if (found == controlled.end()) continue;
    for (const Instruction* after : found->second) {
      if (--waiting[after->id()] == 0) ready.push_back(after);
    }
  }
  if (done == instructions.size()) return true;
  const auto stuck = std::find_if(instructions.begin(), instructions.end(),
                                  [&](const Instruction* inst) { return waiting[inst->id()] > 0; });
  return Report(**stuck, ErrorAt(**stuck, "V267", Str("'", (*stuck)->name(), "' depends on itself")));
}

// Callees before callers must exist as an order. The text cannot break it, since calls look upwards; passes can.
bool Verifier::CheckCallGraph() {
  std::unordered_map<const Computation*, int> waiting;
  std::unordered_map<const Computation*, std::vector<const Computation*>> callers;
  std::vector<const Computation*> ready;
  for (const Computation* computation : module_.Computations()) {
    int& count = waiting[computation];
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) {
        ++count;
        callers[callee].push_back(computation);
      }
    }
    if (count == 0) ready.push_back(computation);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const Computation* computation = ready.back();
    ready.pop_back();
    ++done;
    for (const Computation* caller : callers[computation]) {
      if (--waiting[caller] == 0) ready.push_back(caller);
    }
  }
  if (done == waiting.size()) return true;
  for (const Computation* computation : module_.Computations()) {
    if (waiting[computation] > 0)
      return Report(Rejected("V163",
                             Str("computation '", computation->name(), "' calls itself, directly or through others"),
                             computation->range));
  }
  return false;
}

// ---- Instructions ------------------------------------------------------------------------------------------------

void Verifier::CheckComputation(const Computation& computation) {
  for (const Instruction* inst : computation.Instructions()) {
    if (Full()) return;
    const bool judged = std::none_of(inst->operands().begin(), inst->operands().end(),
                                     [&](const Instruction* operand) { return wrong_[operand->id()]; });
    if (!judged || wrong_[inst->id()]) continue;
    if (Status status = CheckInstruction(*inst); !status) Report(*inst, std::move(status).error());
  }
}

Status Verifier::CheckInstruction(const Instruction& inst) {
  TRY(CheckCalls(inst));
  TRY(CheckTokens(inst));
  TRY(CheckAsync(inst));
  TRY(CheckShape(inst));
  TRY(CheckElementwise(inst));
  TRY(CheckPrecision(inst));
  if (inst.Is(kCollective)) TRY(CheckCollective(inst));
  return {};
}

Status Verifier::CheckShape(const Instruction& inst) {
  Status unbounded;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    for (int64_t i = 0; i < leaf.rank(); ++i) {
      if (leaf.dim(i) == Shape::kUnbounded && unbounded) {
        unbounded = std::unexpected(ErrorAtResult(inst, "V003", Str("dimension ", i, " of the result is unbounded")));
      }
    }
  });
  TRY(std::move(unbounded));
  const Shape inferred = TRY(InferShape(inst));
  const TypeMatch types = strict_ || HasExactTypes(inst.opcode()) ? TypeMatch::kExact : TypeMatch::kFloatsMayDiffer;
  if (ShapesMatch(inst.shape(), inferred, types)) return {};
  switch (inst.opcode()) {
    case Opcode::kCall:
      FAIL(ErrorAtResult(inst, "V142", Str("written ", inst.shape(), ", the called computation returns ", inferred)));
    case Opcode::kFusion:
      FAIL(ErrorAtResult(inst, "V155", Str("written ", inst.shape(), ", the fused computation returns ", inferred)));
    case Opcode::kOptimizationBarrier:
      FAIL(ErrorAtResult(inst, "V162", Str("written ", inst.shape(), ", the operand is ", inferred)));
    default:
      FAIL(ErrorAtResult(inst, "V002",
                         Str("'", inst.opcode(), "' is written ", inst.shape(), " but its operands give ", inferred)));
  }
}

// V031. What clamp and select take instead of full shapes is a matter of their rules.
Status Verifier::CheckElementwise(const Instruction& inst) {
  if (!inst.Is(kElementwise) || inst.Is(Opcode::kClamp) || inst.Is(Opcode::kSelect) || !inst.shape().IsArray())
    return {};
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i).shape();
    if (SameSizes(operand.dims(), inst.shape().dims())) continue;
    FAIL(ErrorAtOperand(
             inst, i, "V031",
             Str("operand ", i, " is ", operand, ", result ", inst.shape(), ", there is no implicit broadcast"))
             .Hint("write a broadcast"));
  }
  return {};
}

// V006 and V057, which hold in strict only.
Status Verifier::CheckPrecision(const Instruction& inst) {
  if (!strict_) return {};
  if (inst.Is(Opcode::kBroadcast) && !std::is_sorted(inst.dimensions().begin(), inst.dimensions().end())) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V057",
                          Str("dimensions ", Braced(inst.dimensions()), " are not ascending")));
  }
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

// V152: fusion, while and conditional stay on their thread.
Status Verifier::CheckCalls(const Instruction& inst) {
  if (!inst.Is(Opcode::kFusion) && !inst.Is(Opcode::kWhile) && !inst.Is(Opcode::kConditional)) return {};
  const std::string& thread = inst.computation().execution_thread;
  for (const Computation* callee : CalledComputations(inst)) {
    if (callee->execution_thread == thread) continue;
    FAIL(ErrorAtOpcode(
        inst, "V152",
        Str("'", callee->name(), "' runs on \"", callee->execution_thread, "\", its caller on \"", thread, "\"")));
  }
  return {};
}

Status Verifier::CheckTokens(const Instruction& inst) {
  const auto expect_token = [&](int64_t i) -> Status {
    if (i < inst.operand_count() && !inst.operand(i).shape().IsToken()) {
      FAIL(ErrorAtOperand(inst, i, "V190", Str("operand ", i, " is ", inst.operand(i).shape(), ", expected token[]")));
    }
    return {};
  };
  switch (inst.opcode()) {
    case Opcode::kInfeed:
      if (!inst.shape().IsTuple() || inst.shape().elements().empty())
        FAIL(ErrorAtResult(inst, "V191", Str("result is ", inst.shape(), ", expected (data, token[])")));
      return expect_token(0);
    case Opcode::kRecv:
      if (!inst.shape().IsTuple() || inst.shape().elements().empty())
        FAIL(ErrorAtResult(inst, "V191", Str("result is ", inst.shape(), ", expected (data, u32[], token[])")));
      return {};
    case Opcode::kOutfeed: {
      const auto& shape = inst.attrs<OutfeedAttrs>().shape;
      if (shape && !Compatible(*shape, inst.operand(0).shape())) {
        FAIL(ErrorAtAttribute(inst, "outfeed_shape", "V192",
                              Str("outfeed_shape is ", *shape, ", the operand ", inst.operand(0).shape())));
      }
      return expect_token(1);
    }
    case Opcode::kAddDependency: return expect_token(1);
    case Opcode::kReplicaId:
    case Opcode::kPartitionId:
      if (!inst.shape().IsScalarOf(PrimitiveType::kU32))
        FAIL(ErrorAtResult(inst, "V201", Str("result is ", inst.shape(), ", expected u32[]")));
      return {};
    default: return {};
  }
}

// The matching start of a done, through one get-tuple-element or tuple at most is not looked at: only direct pairs are.
Status Verifier::CheckAsync(const Instruction& inst) {
  struct Pair {
    Opcode done, start;
  };
  constexpr Pair kPairs[] = {{Opcode::kAllReduceDone, Opcode::kAllReduceStart},
                             {Opcode::kAllGatherDone, Opcode::kAllGatherStart},
                             {Opcode::kCollectivePermuteDone, Opcode::kCollectivePermuteStart},
                             {Opcode::kCopyDone, Opcode::kCopyStart}};
  for (const Pair& pair : kPairs) {
    if (!inst.Is(pair.done)) continue;
    const Instruction& before = inst.operand(0);
    const bool carried = before.Is(Opcode::kGetTupleElement) || before.Is(Opcode::kParameter) ||
                         before.Is(Opcode::kOptimizationBarrier) || before.Is(Opcode::kCustomCall) ||
                         before.Is(Opcode::kCopy) || before.Is(Opcode::kTuple);
    if (!before.Is(pair.start) && !carried)
      FAIL(ErrorAtOperand(inst, 0, "V196", Str("operand is '", before.opcode(), "', expected '", pair.start, "'")));
  }
  if (inst.Is(Opcode::kCopyStart)) {
    const Shape& x = inst.operand(0).shape();
    const auto& elements = inst.shape().elements();
    const bool good = elements.size() == 3 && Compatible(elements[0], x) && Compatible(elements[1], x) &&
                      elements[2].IsScalarOf(PrimitiveType::kU32);
    if (!good)
      FAIL(ErrorAtResult(inst, "V193", Str("result is ", inst.shape(), ", expected (", x, ", ", x, ", u32[])")));
  }
  if (inst.Is(Opcode::kAsyncStart) || inst.Is(Opcode::kAsyncUpdate)) {
    const auto& elements = inst.shape().elements();
    if (elements.size() < 2 || !elements[0].IsTuple())
      FAIL(ErrorAtResult(inst, "V170", Str("result is ", inst.shape(), ", expected ((operands...), result, ...)")));
  }
  if (inst.Is(Opcode::kAsyncStart)) {
    const AsyncAttrs& a = inst.attrs<AsyncAttrs>();
    if (a.calls == nullptr) FAIL(ErrorAtOpcode(inst, "V009", "'async-start' needs the attribute 'calls'"));
    const Shape& bound = inst.shape().element(0);
    if (static_cast<int64_t>(bound.elements().size()) != inst.operand_count()) {
      FAIL(ErrorAtOperandListEnd(
          inst, "V172", Str("the state binds ", bound.elements().size(), " operands, found ", inst.operand_count())));
    }
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (!Compatible(inst.operand(i).shape(), bound.element(i)))
        FAIL(ErrorAtOperand(
            inst, i, "V172",
            Str("operand ", i, " is ", inst.operand(i).shape(), ", the state binds ", bound.element(i))));
    }
  }
  return {};
}

// ---- Collectives -------------------------------------------------------------------------------------------------

// {{0,1},{2,3}}; false for other spellings.
bool ExplicitGroups(std::string_view text, std::vector<std::vector<int64_t>>& groups) {
  if (!text.starts_with("{")) return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && ++depth == 2) groups.emplace_back();
    if (text[i] == '}') --depth;
    if (text[i] < '0' || text[i] > '9') continue;
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    int64_t id = 0;
    if (depth != 2 || !ParseInt(text.substr(i, end - i), &id)) return false;
    groups.back().push_back(id);
    i = end - 1;
  }
  return true;
}

Status Verifier::CheckCollective(const Instruction& inst) {
  if (const auto* permute = inst.attributes().GetIf<PermuteAttrs>()) {
    std::unordered_set<int64_t> sources, targets;
    // In place a device sends as many slices as there are.
    const bool once = !permute->slice_sizes.has_value();
    for (const std::vector<int64_t>& pair : permute->source_target_pairs) {
      if (pair.size() != 2)
        FAIL(ErrorAtAttribute(inst, "source_target_pairs", "V225", Str("a pair has ", pair.size(), " entries")));
      if (!once) continue;
      if (!sources.insert(pair[0]).second)
        FAIL(ErrorAtAttribute(inst, "source_target_pairs", "V225", Str("source ", pair[0], " stands twice")));
      if (!targets.insert(pair[1]).second)
        FAIL(ErrorAtAttribute(inst, "source_target_pairs", "V225", Str("target ", pair[1], " stands twice")));
    }
    return {};
  }
  const auto* a = inst.attributes().GetIf<CollectiveAttrs>();
  if (a == nullptr) return {};
  if (a->use_global_device_ids && !a->channel_id) {
    FAIL(ErrorAtAttribute(inst, "use_global_device_ids", "V215", "use_global_device_ids=true needs a channel_id"));
  }
  if (inst.Is(Opcode::kCollectiveBroadcast)) return {};
  std::vector<std::vector<int64_t>> groups;
  if (!ExplicitGroups(a->replica_groups.text, groups)) return {};
  if (groups.empty() && a->use_global_device_ids)
    FAIL(ErrorAtAttribute(inst, "replica_groups", "V214", "flattened ids need explicit groups"));
  std::vector<int64_t> ids;
  for (const std::vector<int64_t>& group : groups) {
    if (group.empty()) FAIL(ErrorAtAttribute(inst, "replica_groups", "V210", "a group is empty"));
    ids.insert(ids.end(), group.begin(), group.end());
    const bool any_size = inst.Is(Opcode::kAllReduce) || inst.Is(Opcode::kAllReduceStart);
    if (!any_size && group.size() != groups[0].size())
      FAIL(ErrorAtAttribute(inst, "replica_groups", "V213", "the groups differ in size"));
  }
  std::sort(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != static_cast<int64_t>(i))
      FAIL(ErrorAtAttribute(inst, "replica_groups", "V211",
                            Str("the ids must be 0 to ", ids.size() - 1, ", each once")));
  }
  return {};
}

// ---- The module --------------------------------------------------------------------------------------------------

void Verifier::CheckFusions() {
  std::unordered_map<const Computation*, const Instruction*> owners;
  for (const Computation* computation : module_.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kFusion) || Full()) continue;
      const Computation& fused = *inst->attrs<FusionAttrs>().calls;
      if (fused.IsEntry()) {
        Report(*inst, ErrorAtAttribute(*inst, "calls", "V161", "a fusion cannot call the entry computation"));
        continue;
      }
      const auto [owner, first] = owners.emplace(&fused, inst);
      if (!first) {
        Report(*inst, ErrorAtAttribute(*inst, "calls", "V159", Str("'", fused.name(), "' belongs to another fusion"))
                          .AddNote(Str("'", owner->second->name(), "' is that fusion"), NameRange(*owner->second)));
        continue;
      }
      if (!fused.root().users().empty()) {
        Report(*inst,
               ErrorAtCallee(*inst, "calls", "V157", Str("the root of '", fused.name(), "' has users"), fused.root()));
        continue;
      }
      for (const Instruction* inner : fused.Instructions()) {
        if (!inner->IsDead() || inner->Is(kSideEffect)) continue;
        Report(*inst, ErrorAt(*inner, "V158",
                              Str("'", inner->name(), "' in the fused computation '", fused.name(), "' is unused")));
        break;
      }
    }
  }
}

void Verifier::CheckNames() {
  std::unordered_map<std::string_view, const Instruction*> names;
  for (const Computation* computation : module_.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      const auto [other, first] = names.emplace(inst->name(), inst);
      if (first || Full()) continue;
      Report(ErrorAt(*inst, "V007", Str("two instructions are called '", inst->name(), "'"))
                 .AddNote("the other one", other->second->range()));
    }
  }
}

void Verifier::CheckHeader() {
  const ModuleHeader& header = module_.header;
  const Computation& entry = module_.entry();
  if (header.entry_result) {
    const std::vector<Shape>& parameters = header.entry_parameters->elements();
    if (parameters.size() != entry.parameters().size()) {
      Report(InHeader("V262", "entry_computation_layout",
                      Str("entry_computation_layout has ", parameters.size(), " parameters, the entry ",
                          entry.parameters().size())));
      return;
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Instruction& parameter = entry.parameter(static_cast<int64_t>(i));
      if (ShapesMatch(parameters[i], parameter.shape(), TypeMatch::kExact)) continue;
      Report(
          ErrorAt(parameter, "V262",
                  Str("parameter ", i, " is ", parameter.shape(), ", entry_computation_layout says ", parameters[i])));
    }
    if (!ShapesMatch(*header.entry_result, entry.root().shape(), TypeMatch::kExact)) {
      Report(ErrorAtResult(
          entry.root(), "V262",
          Str("the result is ", entry.root().shape(), ", entry_computation_layout says ", *header.entry_result)));
    }
  }
  CheckAliases();
}

// The subshape, or null.
const Shape* Find(const Shape& shape, const ShapeIndex& index) {
  const Shape* at = &shape;
  for (const int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(at->elements().size())) return nullptr;
    at = &at->element(i);
  }
  return at;
}

void Verifier::CheckAliases() {
  const Computation& entry = module_.entry();
  const auto leaf = [&](int64_t parameter, const ShapeIndex& index) -> const Shape* {
    if (parameter < 0 || parameter >= static_cast<int64_t>(entry.parameters().size())) return nullptr;
    const Shape* shape = Find(entry.parameter(parameter).shape(), index);
    return shape != nullptr && shape->IsArray() ? shape : nullptr;
  };
  std::vector<std::pair<int64_t, ShapeIndex>> used;
  for (const InputOutputAlias& alias : module_.header.aliases) {
    const Shape* input = leaf(alias.parameter, alias.parameter_index);
    const Shape* output = Find(entry.root().shape(), alias.output);
    const std::string pair = Str("input_output_alias ", Braced(alias.output), ": (", alias.parameter, ", ",
                                 Braced(alias.parameter_index), ")");
    if (input == nullptr || output == nullptr || !output->IsArray()) {
      Report(InHeader("V263", "input_output_alias", Str(pair, " names no array of the entry")));
      continue;
    }
    if (std::find(used.begin(), used.end(), std::pair(alias.parameter, alias.parameter_index)) != used.end()) {
      Report(InHeader("V263", "input_output_alias", Str(pair, " gives away a parameter twice")));
    }
    used.emplace_back(alias.parameter, alias.parameter_index);
    if (alias.must && !Compatible(*input, *output))
      Report(InHeader("V264", "input_output_alias",
                      Str(pair, " must alias, but the parameter is ", *input, " and the output ", *output)));
  }
  for (const BufferDonor& donor : module_.header.donors) {
    const std::string text = Str("buffer_donor (", donor.parameter, ", ", Braced(donor.parameter_index), ")");
    if (leaf(donor.parameter, donor.parameter_index) == nullptr) {
      Report(InHeader("V265", "buffer_donor", Str(text, " names no array of the entry")));
    } else if (std::find(used.begin(), used.end(), std::pair(donor.parameter, donor.parameter_index)) != used.end()) {
      Report(InHeader("V265", "buffer_donor", Str(text, " is in input_output_alias too")));
    }
  }
}

}  // namespace

Status Verify(const Module& module, VerifyLevel level) {
  if (level == VerifyLevel::kOff) return {};
  return Verifier(module, level).Run();
}

}  // namespace hlo
