// Rules of asynchronous ops (V170-V201).
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ir/frontend_attributes.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

bool IsMetadataCall(const Instruction& inst) {
  if (!inst.Is(Opcode::kCustomCall)) return false;
  constexpr std::string_view kTargets[] = {"Sharding",
                                           "LocalToGlobalShape",
                                           "GlobalToLocalShape",
                                           "xla.sdy.LocalToGlobalShape",
                                           "xla.sdy.GlobalToLocalShape",
                                           "xla.sdy.FuncResultSharding"};
  const std::string& target = inst.attrs<CustomCallAttrs>().target;
  return std::find(std::begin(kTargets), std::end(kTargets), target) != std::end(kTargets);
}

// A custom call that only orders instructions.
bool IsControlCall(const Instruction& inst) {
  return inst.Is(Opcode::kCustomCall) && inst.attrs<CustomCallAttrs>().target == "control_dep";
}

struct StartAndDone {
  Opcode start, done;
};
constexpr StartAndDone kPairs[] = {{Opcode::kAllReduceStart, Opcode::kAllReduceDone},
                                   {Opcode::kAllGatherStart, Opcode::kAllGatherDone},
                                   {Opcode::kCollectivePermuteStart, Opcode::kCollectivePermuteDone},
                                   {Opcode::kCopyStart, Opcode::kCopyDone},
                                   {Opcode::kSend, Opcode::kSendDone},
                                   {Opcode::kRecv, Opcode::kRecvDone}};
const StartAndDone* PairOfStart(Opcode opcode) {
  const auto* found = std::find_if(std::begin(kPairs), std::end(kPairs), [&](auto& p) { return p.start == opcode; });
  return found == std::end(kPairs) ? nullptr : found;
}
const StartAndDone* PairOfDone(Opcode opcode) {
  const auto* found = std::find_if(std::begin(kPairs), std::end(kPairs), [&](auto& p) { return p.done == opcode; });
  return found == std::end(kPairs) ? nullptr : found;
}

constexpr std::array<bool, 256> kPaired = [] {
  std::array<bool, 256> paired{};
  for (const StartAndDone& pair : kPairs) {
    paired[static_cast<size_t>(pair.start)] = paired[static_cast<size_t>(pair.done)] = true;
  }
  return paired;
}();

bool IsAsyncState(const Instruction& inst) { return inst.Is(Opcode::kAsyncStart) || inst.Is(Opcode::kAsyncUpdate); }

// Whether `part` equals `whole`, is (), or is a tuple of prefixes of the first elements of `whole`.
bool IsPrefix(const Shape& part, const Shape& whole) {
  if (Compatible(part, whole)) return true;
  if (!part.IsTuple()) return false;
  if (part.elements().empty()) return true;
  if (!whole.IsTuple() || part.elements().size() > whole.elements().size()) return false;
  for (size_t i = 0; i < part.elements().size(); ++i) {
    if (!IsPrefix(part.element(i), whole.element(i))) return false;
  }
  return true;
}

Shape ShapeOfParameters(const Computation& computation) {
  std::vector<Shape> shapes;
  for (const Instruction* parameter : computation.parameters()) shapes.push_back(parameter->shape());
  return Shape::Tuple(std::move(shapes));
}

class AsyncChecker {
 public:
  explicit AsyncChecker(Findings& findings) : findings_(findings) {}

  void Run() {
    if (!Collect()) return;
    for (const Instruction* inst : chained_) {
      const bool judged =
          !findings_.IsWrong(*inst) && (inst->operand_count() == 0 || !findings_.IsWrong(inst->operand(0)));
      if (judged) findings_.Add(*inst, Check(*inst));
    }
    for (const Instruction* inst : chained_) {
      if (inst->Is(Opcode::kAsyncStart) && !findings_.IsWrong(*inst)) CheckIsDone(*inst);
    }
    CheckWrapped();
    CheckHostChannels();
  }

 private:
  // Returns false if there are no asynchronous ops.
  bool Collect();
  // The op that computes the value, found through tuples, barriers, copies and loops. Null if unknown.
  const Instruction* ProducerOf(const Instruction& inst) const;
  // The computation that a chain wraps, or null if unknown.
  const Computation* WrappedBy(const Instruction& inst) const;
  bool Wraps(const Instruction& inst, const Computation& wrapped) const;

  Status Check(const Instruction& inst);
  Status CheckStart(const Instruction& inst);
  Status CheckState(const Instruction& inst, const Computation& wrapped);
  Status CheckUpdate(const Instruction& inst);
  Status CheckDone(const Instruction& inst);
  Status CheckUsers(const Instruction& inst);
  // Returns WrappedBy(inst). Errors: V171, V178, and `code` for an operand that is not a chain of the same computation.
  Result<const Computation*> CheckContinues(const Instruction& inst, const char* code);
  Status CheckPairStart(const Instruction& inst, const StartAndDone& pair);
  Status CheckPairDone(const Instruction& inst, const StartAndDone& pair);
  void CheckIsDone(const Instruction& start);
  void CheckWrapped();
  void CheckHostChannels();

  Findings& findings_;
  std::vector<const Instruction*> chained_;                               // Starts, updates, dones of all kinds.
  std::unordered_map<const Computation*, const Instruction*> loops_;      // By body.
  std::unordered_map<const Instruction*, const Instruction*> continued_;  // Op that continues a start or update.
  std::unordered_map<const Computation*, const Instruction*> wrappers_;   // First start by wrapped computation.
};

bool AsyncChecker::Collect() {
  for (const Instruction* inst : findings_.notable()) {
    if (inst->Is(Opcode::kWhile)) loops_.emplace(inst->attrs<WhileAttrs>().body, inst);
    if (IsAsyncPart(*inst)) chained_.push_back(inst);
  }
  return !chained_.empty();
}

const Instruction* AsyncChecker::ProducerOf(const Instruction& inst) const {
  std::vector<int64_t> index;  // Path within `at`, innermost index first.
  const Instruction* at = &inst;
  for (int steps = 0; steps < 10'000; ++steps) {
    switch (at->opcode()) {
      case Opcode::kGetTupleElement: index.push_back(at->tuple_index()); break;
      case Opcode::kTuple: {
        if (index.empty() || index.back() >= at->operand_count()) return at;
        at = &at->operand(index.back());
        index.pop_back();
        continue;
      }
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
      case Opcode::kWhile: break;
      case Opcode::kParameter: {
        const auto loop = loops_.find(&at->computation());
        if (loop == loops_.end()) return at;
        at = &loop->second->operand(0);
        continue;
      }
      default:
        if (!IsMetadataCall(*at) || at->operand_count() == 0) return at;
    }
    at = &at->operand(0);
  }
  return nullptr;
}

const Computation* AsyncChecker::WrappedBy(const Instruction& inst) const {
  const Instruction* at = &inst;
  for (int steps = 0; at != nullptr && steps < 10'000; ++steps) {
    const auto* attrs = at->attributes().GetIf<AsyncAttrs>();
    if (attrs == nullptr) return nullptr;
    if (attrs->calls != nullptr) return attrs->calls;
    if (at->operand_count() == 0) return nullptr;
    at = ProducerOf(at->operand(0));
  }
  return nullptr;
}

bool AsyncChecker::Wraps(const Instruction& inst, const Computation& wrapped) const {
  const Computation* other = WrappedBy(inst);
  return other == nullptr || other == &wrapped || Fingerprint(*other) == Fingerprint(wrapped);
}

Status AsyncChecker::Check(const Instruction& inst) {
  if (const StartAndDone* pair = PairOfStart(inst.opcode())) return CheckPairStart(inst, *pair);
  if (const StartAndDone* pair = PairOfDone(inst.opcode())) return CheckPairDone(inst, *pair);
  if (inst.Is(Opcode::kAsyncStart)) return CheckStart(inst);
  return inst.Is(Opcode::kAsyncUpdate) ? CheckUpdate(inst) : CheckDone(inst);
}

// ---- async-start, -update, -done -----------------------------------------------------------------------------------

Status CheckStateAliases(const Instruction& inst, const Computation& wrapped) {
  const bool start = inst.Is(Opcode::kAsyncStart);
  const char* code = start ? "V180" : "V181";
  for (const OperandAlias& alias : inst.attrs<AsyncAttrs>().aliases) {
    const auto fail = [&](const std::string& message) {
      return ErrorAtAttribute(
          inst, "output_to_operand_aliasing", code,
          Str("alias ", Braced(alias.output), ": (", alias.operand, ", ", Braced(alias.operand_index), "): ", message));
    };
    if (alias.operand < 0 || alias.operand >= (start ? static_cast<int64_t>(wrapped.parameters().size()) : 1)) {
      FAIL(fail(start ? Str("operand ", alias.operand, " does not exist, because '", wrapped.name(), "' has ",
                            wrapped.parameters().size(), " parameters")
                      : Str("only operand 0 can be aliased")));
    }
    if (alias.output.empty()) FAIL(fail("the whole state cannot be aliased"));
    if (!start && (alias.output[0] != 2 || alias.operand_index.empty() || alias.operand_index[0] != 2)) {
      FAIL(fail("only parts of the context, {2,...}, can be aliased"));
    }
    const Shape* from =
        FindSubShape(start ? wrapped.parameter(alias.operand).shape() : inst.operand(0).shape(), alias.operand_index);
    const Shape* to = FindSubShape(inst.shape(), alias.output);
    if (from == nullptr || to == nullptr)
      FAIL(fail(Str(from == nullptr ? "the operand" : "the state", " has no such part")));
    if (!Compatible(*from, *to)) FAIL(fail(Str("the operand's part is ", *from, ", but the state's part is ", *to)));
  }
  return {};
}

Status AsyncChecker::CheckState(const Instruction& inst, const Computation& wrapped) {
  const std::vector<Shape>& state = inst.shape().elements();
  if (state.size() < 2 || !state[0].IsTuple()) return {};  // V170 reports this.
  const Shape parameters = ShapeOfParameters(wrapped);
  if (!IsPrefix(state[0], parameters)) {
    FAIL(ErrorAtResult(inst, "V173",
                       Str("the operands in the state are ", state[0], ", but the parameters of '", wrapped.name(),
                           "' are ", parameters)));
  }
  if (!IsPrefix(state[1], wrapped.root().shape())) {
    FAIL(ErrorAtResult(
        inst, "V173",
        Str("the state holds ", state[1], ", but '", wrapped.name(), "' returns ", wrapped.root().shape())));
  }
  return CheckStateAliases(inst, wrapped);
}

Status AsyncChecker::CheckStart(const Instruction& inst) {
  const AsyncAttrs& a = inst.attrs<AsyncAttrs>();
  if (a.calls == nullptr) FAIL(ErrorAtOpcode(inst, "V009", "'async-start' needs the attribute 'calls'"));
  const std::vector<Shape>& state = inst.shape().elements();
  if (state.size() < 2 || !state[0].IsTuple())
    FAIL(ErrorAtResult(inst, "V170", Str("result is ", inst.shape(), ", expected ((operands...), result, ...)")));
  const auto bound = static_cast<int64_t>(state[0].elements().size());
  if (bound != inst.operand_count()) {
    FAIL(ErrorAtOperandListEnd(inst, "V172",
                               Str("the state has ", bound, bound == 1 ? " operand" : " operands",
                                   ", but 'async-start' has ", inst.operand_count())));
  }
  for (int64_t i = 0; i < bound; ++i) {
    if (Compatible(inst.operand(i).shape(), state[0].element(i))) continue;
    FAIL(ErrorAtOperand(
        inst, i, "V172",
        Str("operand ", i, " is ", inst.operand(i).shape(), ", but the state has ", state[0].element(i))));
  }
  TRY(CheckState(inst, *a.calls));
  const auto [first, is_first] = wrappers_.emplace(a.calls, &inst);
  const std::string& thread = first->second->attrs<AsyncAttrs>().thread;
  if (!is_first && thread != a.thread) {
    FAIL(ErrorAtAttribute(inst, "async_execution_thread", "V174",
                          Str("'", a.calls->name(), "' runs on thread \"", a.thread, "\" here, but on thread \"",
                              thread, "\" from '", first->second->name(), "'"))
             .AddNote(Str("'", first->second->name(), "' is defined here"), NameRange(*first->second)));
  }
  return CheckUsers(inst);
}

Result<const Computation*> AsyncChecker::CheckContinues(const Instruction& inst, const char* code) {
  const Instruction* producer = ProducerOf(inst.operand(0));
  if (producer == nullptr) return nullptr;
  const Instruction& before = *producer;
  if (!IsAsyncState(before)) {
    FAIL(ErrorAtOperand(inst, 0, code,
                        Str("operand comes from '", before.opcode(), "', expected async-start or async-update")));
  }
  const std::string& thread = inst.attrs<AsyncAttrs>().thread;
  const std::string& started = before.attrs<AsyncAttrs>().thread;
  if (thread != "main" && started != "main" && thread != started) {
    FAIL(ErrorAtAttribute(
             inst, "async_execution_thread", "V171",
             Str("this op runs on thread \"", thread, "\", but '", before.name(), "' runs on thread \"", started, "\""))
             .AddNote(Str("'", before.name(), "' is defined here"), NameRange(before)));
  }
  const auto [other, first] = continued_.emplace(&before, &inst);
  if (!first) {
    FAIL(ErrorAtOperand(inst, 0, "V178",
                        Str("'", before.name(), "' is already continued in '", other->second->name(),
                            "', expected one continuation"))
             .AddNote(Str("'", other->second->name(), "' is defined here"), NameRange(*other->second)));
  }
  const Computation* wrapped = WrappedBy(inst);
  if (wrapped != nullptr && !Wraps(before, *wrapped))
    FAIL(ErrorAtOpcode(inst, code, Str("this op wraps another computation than '", before.name(), "'")));
  return wrapped;
}

Status AsyncChecker::CheckUpdate(const Instruction& inst) {
  const std::vector<Shape>& state = inst.shape().elements();
  if (state.size() < 2 || !state[0].IsTuple())
    FAIL(ErrorAtResult(inst, "V170", Str("result is ", inst.shape(), ", expected ((operands...), result, ...)")));
  if (inst.operand_count() == 0) FAIL(ErrorAtOperandListEnd(inst, "V175", "expected the state to update, found none"));
  const Computation* wrapped = TRY(CheckContinues(inst, "V175"));
  if (wrapped == nullptr) return {};
  TRY(CheckState(inst, *wrapped));
  const std::vector<Shape>& old = inst.operand(0).shape().elements();
  if (old.size() < 2 || !IsPrefix(old[0], state[0]) || !IsPrefix(old[1], state[1])) {
    FAIL(ErrorAtResult(inst, "V175",
                       Str("the new state is ", inst.shape(),
                           ", expected the operands and the result of the old state ", inst.operand(0).shape())));
  }
  const auto kept = static_cast<int64_t>(old[0].elements().size());
  const auto bound = static_cast<int64_t>(state[0].elements().size());
  if (inst.operand_count() - 1 != bound - kept) {
    const std::string message =
        Str("the new state has ", bound - kept, " more operands than the old state, but 'async-update' adds ",
            inst.operand_count() - 1);
    FAIL(inst.operand_count() > 1 ? ErrorAtOperand(inst, 1, "V175", message)
                                  : ErrorAtOperandListEnd(inst, "V175", message));
  }
  for (int64_t i = 1; i < inst.operand_count(); ++i) {
    const Shape& expected = state[0].element(kept + i - 1);
    if (Compatible(inst.operand(i).shape(), expected)) continue;
    FAIL(ErrorAtOperand(inst, i, "V175",
                        Str("operand ", i, " is ", inst.operand(i).shape(), ", but the new state has ", expected)));
  }
  return CheckUsers(inst);
}

Status AsyncChecker::CheckDone(const Instruction& inst) {
  if (inst.operand_count() != 1)
    FAIL(ErrorAtOperandListEnd(inst, "V176", Str("'async-done' takes 1 operand, found ", inst.operand_count())));
  const Computation* wrapped = TRY(CheckContinues(inst, "V176"));
  if (wrapped == nullptr) return {};
  const std::vector<Shape>& state = inst.operand(0).shape().elements();
  if (state.empty() || state[0].elements().size() != wrapped->parameters().size()) {
    FAIL(ErrorAtOperand(inst, 0, "V176",
                        Str("the state has ", state.empty() ? 0 : state[0].elements().size(), " operands, but '",
                            wrapped->name(), "' takes ", wrapped->parameters().size())));
  }
  if (!Compatible(inst.shape(), wrapped->root().shape())) {
    FAIL(ErrorAtResult(
        inst, "V176",
        Str("result is ", inst.shape(), ", but '", wrapped->name(), "' returns ", wrapped->root().shape())));
  }
  return {};
}

// The effect of an instruction that uses the state of a chain.
enum class UserEffect : uint8_t {
  kNone,       // Not allowed (V177).
  kPassesOn,   // Its value holds the state.
  kEndsChain,  // Ends the chain, or is not followed further.
  kOrders,
};
UserEffect EffectOf(const Instruction& user, int64_t i) {
  switch (user.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kCopy: return UserEffect::kPassesOn;
    case Opcode::kAsyncUpdate: return i == 0 ? UserEffect::kPassesOn : UserEffect::kNone;
    case Opcode::kAsyncDone: return i == 0 ? UserEffect::kEndsChain : UserEffect::kNone;
    case Opcode::kWhile:
    case Opcode::kCall:
    case Opcode::kConditional: return UserEffect::kEndsChain;
    default:
      return IsMetadataCall(user)  ? UserEffect::kPassesOn
             : IsControlCall(user) ? UserEffect::kOrders
                                   : UserEffect::kNone;
  }
}

Status AsyncChecker::CheckUsers(const Instruction& inst) {
  for (const Instruction* user : inst.users()) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (&user->operand(i) != &inst || EffectOf(*user, i) != UserEffect::kNone) continue;
      Error error = ErrorAtOperand(*user, i, "V177",
                                   Str("'", user->opcode(), "' cannot take the state of '", inst.opcode(),
                                       "'; expected async-update or async-done"));
      findings_.Add(*user, std::move(error));
    }
  }
  return {};
}

// V178: some path leads from the start to a done, or to an instruction that is not followed.
void AsyncChecker::CheckIsDone(const Instruction& start) {
  std::vector<const Instruction*> ready = {&start};
  std::unordered_set<const Instruction*> seen = {&start};
  while (!ready.empty()) {
    const Instruction* at = ready.back();
    ready.pop_back();
    if (at->IsRoot() || findings_.IsWrong(*at)) return;
    for (const Instruction* user : at->users()) {
      const UserEffect effect = EffectOf(*user, 0);
      if (effect == UserEffect::kEndsChain || effect == UserEffect::kNone) return;
      if (seen.insert(user).second) ready.push_back(user);
    }
  }
  findings_.Add(start, ErrorAtOpcode(start, "V178", Str("'", start.name(), "' has no async-done")));
}

void AsyncChecker::CheckWrapped() {
  if (wrappers_.empty()) return;
  std::unordered_map<const Computation*, int> starts;
  for (const Instruction* inst : findings_.notable()) {
    for (const Computation* callee : CalledComputations(*inst)) {
      const auto wrapper = wrappers_.find(callee);
      if (wrapper == wrappers_.end()) continue;
      if (inst->Is(Opcode::kAsyncStart)) ++starts[callee];
      if (inst->attributes().GetIf<AsyncAttrs>() != nullptr || findings_.IsWrong(*inst)) continue;
      findings_.Add(*inst,
                    ErrorAtOpcode(*inst, "V182",
                                  Str("'", callee->name(), "' is wrapped by '", wrapper->second->name(),
                                      "', so nothing else may call it"))
                        .AddNote(Str("'", wrapper->second->name(), "' is defined here"), NameRange(*wrapper->second)));
    }
  }
  for (const Computation* computation : findings_.module().Computations()) {
    const auto wrapper = wrappers_.find(computation);
    if (wrapper == wrappers_.end()) continue;
    const Instruction* start = wrapper->second;
    if (start->attrs<AsyncAttrs>().thread != "main" || findings_.IsWrong(*start)) continue;
    if (starts[computation] == 1 && FrontendAttribute(*start, "_collectives_group")) continue;
    for (const Instruction* inner : computation->instructions()) {
      if (inner->IsRoot() || inner->Is(Opcode::kParameter) || inner->Is(Opcode::kGetTupleElement)) continue;
      findings_.Add(*inner, ErrorAtOpcode(*inner, "V179",
                                          Str("'", inner->name(), "' is neither a parameter nor the root of '",
                                              computation->name(), "', which '", start->name(), "' runs on \"main\"")));
      break;
    }
  }
}

// ---- Starts and dones of collectives, copies, send and recv --------------------------------------------------------

Status AsyncChecker::CheckPairStart(const Instruction& inst, const StartAndDone& pair) {
  const bool channel = pair.start == Opcode::kSend || pair.start == Opcode::kRecv;
  const char* code = channel ? "V197" : "V195";
  if (inst.Is(Opcode::kCopyStart)) {
    const Shape expected =
        Shape::Tuple({inst.operand(0).shape(), inst.operand(0).shape(), Shape::Scalar(PrimitiveType::kU32)});
    if (!Compatible(inst.shape(), expected))
      FAIL(ErrorAtResult(inst, "V193", Str("result is ", inst.shape(), ", expected ", expected)));
  }
  const bool counts_control = channel && inst.attrs<ChannelAttrs>().channel_id.has_value();
  std::vector<const Instruction*> users;
  for (const Instruction* user : inst.users()) {
    if (counts_control || !IsControlCall(*user)) users.push_back(user);
  }
  if (users.empty()) {
    if (channel && inst.IsRoot()) return {};  // An asynchronous computation may end with a send or recv.
    FAIL(ErrorAtOpcode(inst, code, Str("'", inst.name(), "' is not used, expected a '", pair.done, "' that uses it")));
  }
  for (const Instruction* user : users) {
    switch (user->opcode()) {
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
      case Opcode::kWhile: continue;
      default:
        if (user->Is(pair.done) || IsMetadataCall(*user)) continue;
        FAIL(ErrorAtOpcode(inst, code,
                           Str("'", inst.name(), "' is used by '", user->opcode(), "', expected '", pair.done, "'"))
                 .AddNote(Str("'", user->name(), "' is defined here"), NameRange(*user)));
    }
  }
  if (users.size() == 1) return {};
  FAIL(
      ErrorAtOpcode(inst, code, Str("'", inst.name(), "' has ", users.size(), " users, expected one '", pair.done, "'"))
          .AddNote(Str("'", users[0]->name(), "' is the first user"), NameRange(*users[0]))
          .AddNote(Str("'", users[1]->name(), "' is the second user"), NameRange(*users[1])));
}

Status AsyncChecker::CheckPairDone(const Instruction& inst, const StartAndDone& pair) {
  const Instruction& operand = inst.operand(0);
  const bool channel = pair.start == Opcode::kSend || pair.start == Opcode::kRecv;
  if (channel) {
    if (!operand.shape().IsTuple() || operand.shape().elements().size() < 3)
      FAIL(ErrorAtOperand(inst, 0, "V201", Str("operand is ", operand.shape(), ", expected (data, u32[], token[])")));
    if (!operand.Is(pair.start) && !operand.Is(Opcode::kGetTupleElement)) {
      FAIL(ErrorAtOperand(inst, 0, "V197", Str("operand is '", operand.opcode(), "', expected '", pair.start, "'")));
    }
    if (!operand.Is(pair.start)) return {};
    const ChannelAttrs& a = operand.attrs<ChannelAttrs>();
    const ChannelAttrs& b = inst.attrs<ChannelAttrs>();
    if (a.channel_id != b.channel_id) {
      const auto text = [](std::optional<int64_t> id) { return id ? Str("channel_id ", *id) : Str("no channel_id"); };
      FAIL(ErrorAtAttribute(inst, "channel_id", "V198",
                            Str("found ", text(b.channel_id), ", but '", operand.name(), "' has ", text(a.channel_id)))
               .AddNote(Str("'", operand.name(), "' is defined here"), NameRange(operand)));
    }
    if (a.channel_id && a.is_host_transfer != b.is_host_transfer) {
      FAIL(ErrorAtAttribute(inst, "is_host_transfer", "V199",
                            Str("is_host_transfer is ", b.is_host_transfer ? "true" : "false", ", but '",
                                operand.name(), "' has ", a.is_host_transfer ? "true" : "false"))
               .AddNote(Str("'", operand.name(), "' is defined here"), NameRange(operand)));
    }
    return {};
  }
  const Instruction* start = ProducerOf(operand);
  if (start == nullptr) return {};
  if (!start->Is(pair.start)) {
    FAIL(ErrorAtOperand(inst, 0, "V196",
                        Str("operand comes from '", start->opcode(), "', expected '", pair.start, "'")));
  }
  if (pair.start == Opcode::kAllReduceStart) {
    if (Compatible(inst.shape(), operand.shape())) return {};
    FAIL(ErrorAtResult(inst, "V002", Str("result is ", inst.shape(), ", but the start gives ", operand.shape())));
  }
  const std::vector<Shape>& parts = operand.shape().elements();
  if (parts.size() < 2) return {};  // The check of the start reported this.
  if (pair.start == Opcode::kCopyStart) {
    if (!Compatible(parts[0], parts[1])) {
      FAIL(
          ErrorAtOperand(inst, 0, "V194",
                         Str("operand is ", operand.shape(), ", but its first two elements must have the same shape")));
    }
    if (Compatible(inst.shape(), parts[0])) return {};
    FAIL(ErrorAtResult(inst, "V194", Str("result is ", inst.shape(), ", but the copy is ", parts[0])));
  }
  if (Compatible(inst.shape(), parts[1])) return {};
  FAIL(ErrorAtResult(inst, pair.start == Opcode::kCollectivePermuteStart ? "V227" : "V002",
                     Str("result is ", inst.shape(), ", but the start gives ", parts[1])));
}

void AsyncChecker::CheckHostChannels() {
  std::unordered_map<int64_t, const Instruction*> first_of;
  for (const Instruction* inst : chained_) {
    if (!inst->Is(Opcode::kSend) && !inst->Is(Opcode::kRecv)) continue;
    const ChannelAttrs& a = inst->attrs<ChannelAttrs>();
    if (!a.is_host_transfer || !a.channel_id) continue;
    const auto [first, is_first] = first_of.emplace(*a.channel_id, inst);
    if (is_first || findings_.IsWrong(*inst) || SameOperation(*first->second, *inst)) continue;
    const Instruction& other = *first->second;
    findings_.Add(*inst, ErrorAtOpcode(*inst, "V200",
                                       Str("'", inst->opcode(), "' ", inst->shape(), " and '", other.opcode(), "' ",
                                           other.shape(), " share channel ", *a.channel_id,
                                           " to the host, so they must have the same opcode, shape and attributes"))
                             .AddNote(Str("'", other.name(), "' is defined here"), NameRange(other)));
  }
}

}  // namespace

bool IsAsyncPart(const Instruction& inst) {
  return kPaired[static_cast<size_t>(inst.opcode())] ||
         RowOf(inst.opcode()).attrs_kind == AttributeStructs::IndexOf<AsyncAttrs>();
}

void CheckAsyncChains(Findings& findings) { AsyncChecker(findings).Run(); }

Status CheckTokens(const Instruction& inst) {
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
                              Str("outfeed_shape is ", *shape, ", but the operand is ", inst.operand(0).shape())));
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

}  // namespace hlo
