#include "judge/bounds/loop.h"

#include <algorithm>

#include "interp/dynamic.h"
#include "ir/analysis/trip_count.h"
#include "ir/side_effects.h"
#include "judge/bounds/slice.h"

namespace hlo::shadow {
namespace {

std::vector<bool> UnchangedElements(const Instruction& loop) {
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  std::vector<bool> unchanged(loop.shape().IsTuple() ? loop.shape().elements().size() : 0, false);
  if (!body.root().Is(Opcode::kTuple)) return unchanged;
  for (size_t i = 0; i < unchanged.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    unchanged[i] = ElementOfState(body.root().operand(element)) == element;
  }
  return unchanged;
}

bool IsGiven(const Context& context, const Instruction& inst) {
  return context.options.given && context.options.given(inst);
}

bool HandsOnOperand(const Instruction& inst) {
  return inst.Is(Opcode::kOptimizationBarrier) || inst.Is(Opcode::kDomain) || inst.Is(Opcode::kAddDependency);
}

}  // namespace

// ---- Planning -------------------------------------------------------------------------------------------------------

void Repeated::Plan(const Context& context) {
  const Named root = PlanRoot(context, root_, nullptr);
  is_tuple_ = root.step < 0;
  if (is_tuple_) {
    for (const Named& element : root.elements) outputs_.push_back(StepOf(context, element));
  } else {
    outputs_ = {root.step};
  }
  at_.resize(steps_.size());
  made_.resize(steps_.size());
  PlanLaterTrips();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Step& step = steps_[outputs_[i]];
    const bool is_made = step.kind == Kind::kGiven || step.kind == Kind::kInstruction;
    if (is_made && !step.is_kept && step.output < 0) step.output = static_cast<int>(i);
  }
  PlanLastReads();
}

// `args` are the arguments of a call, or null at the top.
Repeated::Named Repeated::PlanRoot(const Context& context, const Instruction& root, const std::vector<Named>* args) {
  if (IsGiven(context, root)) return {AddStep(context, {.kind = Kind::kGiven, .inst = &root}), nullptr, {}};
  Scope scope;
  for (const Instruction* inst : NeededOrder(context, root)) {
    Named value = PlanInstruction(context, *inst, scope, args);
    scope.emplace(inst, std::move(value));
  }
  return std::move(scope.at(&root));
}

Repeated::Named Repeated::PlanInstruction(const Context& context, const Instruction& inst, const Scope& scope,
                                          const std::vector<Named>* args) {
  const auto step = [&](Step made) -> Named { return {AddStep(context, std::move(made)), nullptr, {}}; };
  if (IsGiven(context, inst)) return step({.kind = Kind::kGiven, .inst = &inst});
  if (inst.Is(Opcode::kParameter)) {
    if (args != nullptr) return (*args)[inst.parameter_number()];
    return step({.kind = Kind::kArgument, .inst = &inst, .index = inst.parameter_number()});
  }
  if (HandsOnOperand(inst)) return scope.at(&inst.operand(0));
  std::vector<Named> operands;
  for (const Instruction* operand : inst.operands()) operands.push_back(scope.at(operand));
  if (inst.Is(Opcode::kTuple)) return {-1, &inst, std::move(operands)};
  if (inst.Is(Opcode::kGetTupleElement)) {
    if (operands[0].step < 0) return operands[0].elements[inst.tuple_index()];
    return step({.kind = Kind::kElement, .inst = &inst, .operands = {operands[0].step}, .index = inst.tuple_index()});
  }
  if (const Computation* callee = Dissolved(context, inst)) {
    ++called_;
    Named result = PlanRoot(context, callee->root(), &operands);
    --called_;
    return result;
  }
  Step made{.inst = &inst};
  for (const Named& operand : operands) made.operands.push_back(StepOf(context, operand));
  return step(std::move(made));
}

// A tuple that is needed as a whole gets a new step.
int Repeated::StepOf(const Context& context, const Named& value) {
  if (value.step >= 0) return value.step;
  Step tuple{.inst = value.tuple};
  for (const Named& element : value.elements) tuple.operands.push_back(StepOf(context, element));
  return AddStep(context, std::move(tuple));
}

int Repeated::AddStep(const Context& context, Step step) {
  const Shape& shape = step.inst->shape();
  step.is_large = !shape.IsArray() || shape.NumElements() > kMostLeft;
  step.is_unchanged = IsUnchanged(step);
  if (step.kind == Kind::kInstruction) step.rule = PreparedElementwise::Of(context, *step.inst);
  steps_.push_back(std::move(step));
  return static_cast<int>(steps_.size()) - 1;
}

// The callee of an inlined fusion or call, or null. With dynamic sizes, an instruction inside may have no bounds
// although the call has.
const Computation* Repeated::Dissolved(const Context& context, const Instruction& inst) const {
  if (!inst.Is(Opcode::kFusion) && !inst.Is(Opcode::kCall)) return nullptr;
  const Computation& callee = *CalledComputations(inst)[0];
  const bool is_empty = inst.shape().IsArray() && inst.shape().NumElements() == 0;
  const bool is_too_much = context.depth + called_ >= kDeepest || steps_.size() > kMostSteps;
  const auto is_dynamic = [](const Instruction* inside) { return MayBeDynamic(*inside); };
  if (is_empty || is_too_much || std::ranges::any_of(callee.Instructions(), is_dynamic)) return nullptr;
  return &callee;
}

bool Repeated::IsUnchanged(const Step& step) const {
  const auto is_unchanged = [&](int operand) { return steps_[operand].is_unchanged; };
  switch (step.kind) {
    case Kind::kArgument: return false;
    case Kind::kElement:
      if (steps_[step.operands[0]].kind == Kind::kArgument) return !unchanged_.empty() && unchanged_[step.index];
      return is_unchanged(step.operands[0]);
    case Kind::kGiven: return true;
    case Kind::kInstruction: return std::ranges::all_of(step.operands, is_unchanged) && !HasSideEffect(*step.inst);
  }
  return false;
}

bool Repeated::IsPassedOn(size_t output) const {
  const Step& step = steps_[outputs_[output]];
  return is_tuple_ && step.kind == Kind::kElement && step.is_unchanged &&
         steps_[step.operands[0]].kind == Kind::kArgument && step.index == static_cast<int64_t>(output);
}

void Repeated::PlanLaterTrips() {
  constexpr int64_t kStepsOfRule = 100;
  std::vector<bool> is_needed(steps_.size(), false);
  for (size_t i = 0; i < outputs_.size(); ++i) is_needed[outputs_[i]] = is_needed[outputs_[i]] || !IsPassedOn(i);
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (!is_needed[i]) continue;
    const Shape& shape = step.inst->shape();
    step.is_kept = step.is_unchanged && shape.IsArray() && shape.NumElements() <= kMostKept;
    step.is_repeated = !step.is_kept;
    if (step.is_repeated && step.kind == Kind::kInstruction)
      later_steps_ += kStepsOfRule + StepsOf(*step.inst, shape.IsArray() ? shape.NumElements() : 0);
    for (const int operand : step.operands) is_needed[operand] = is_needed[operand] || step.is_repeated;
  }
}

int Repeated::OwnerOf(int step) const {
  while (steps_[step].kind == Kind::kElement && !steps_[step].is_kept) step = steps_[step].operands[0];
  return step;
}

void Repeated::PlanLastReads() {
  const auto end = static_cast<int>(steps_.size());
  for (const bool is_later : {false, true}) {
    std::vector<int> last(steps_.size());
    for (int i = 0; i < end; ++i) {
      last[i] = i;
      if (is_later && !steps_[i].is_repeated) continue;
      for (const int operand : steps_[i].operands) last[OwnerOf(operand)] = i;
    }
    for (const int output : outputs_) last[OwnerOf(output)] = end;
    for (int i = 0; i < end; ++i) {
      const Step& step = steps_[i];
      const bool is_made = step.kind == Kind::kGiven || step.kind == Kind::kInstruction;
      if (!is_made || !step.is_large || step.is_kept || step.output >= 0) continue;
      if (last[i] < end) (is_later ? steps_[last[i]].last_in_later : steps_[last[i]].last_in_first).push_back(i);
      else if (!is_later) last_out_.push_back(i);
    }
  }
}

// ---- Trips ----------------------------------------------------------------------------------------------------------

Status Repeated::Run(Context& context, Operands args, ShadowValue& result) {
  if (context.depth == kDeepest) {
    result = TRY(RunTo(context, root_, args));  // RunTo reports the error.
    return {};
  }
  ++context.depth;
  if (steps_.empty()) Plan(context);
  Status done = RunSteps(context, args, result);
  --context.depth;
  ++trips_;
  return done;
}

void Repeated::Restart() {
  trips_ = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].is_large) made_[i] = ShadowValue();
  }
}

// Instructions in a loop are not outputs (Context::IsOutput), so users read the values directly.
Status Repeated::RunSteps(Context& context, Operands args, ShadowValue& result) {
  constexpr int64_t kBuffers = 2;
  if (trips_ == 0) result = ShadowValue();
  if (trips_ < kBuffers && is_tuple_) {
    result.shape = root_.shape();
    result.elements.resize(outputs_.size());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (steps_[outputs_[i]].is_large && !IsPassedOn(i)) OutputOf(i, result) = ShadowValue();
  }
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
    const Step& step = steps_[i];
    if (trips_ > 0 && !step.is_repeated) continue;
    TRY(RunStep(context, args, i, result));
    for (const int done : trips_ == 0 ? step.last_in_first : step.last_in_later) made_[done] = ShadowValue();
  }
  HandOut(context, result);
  return {};
}

Status Repeated::RunStep(Context& context, Operands args, int number, ShadowValue& result) {
  const Step& step = steps_[number];
  ShadowValue& place = step.output < 0 ? made_[number] : OutputOf(step.output, result);
  at_[number] = &place;
  switch (step.kind) {
    case Kind::kArgument: at_[number] = args[step.index]; return {};
    case Kind::kElement: {
      const ShadowValue& element = at_[step.operands[0]]->elements[step.index];
      if (step.is_kept) place = element;
      else at_[number] = &element;
      return {};
    }
    case Kind::kGiven: place = *context.options.given(*step.inst); return {};
    case Kind::kInstruction: break;
  }
  operands_.clear();
  for (const int operand : step.operands) operands_.push_back(at_[operand]);
  if (step.rule != nullptr && step.rule->Run(context, operands_, place)) return {};
  place = TRY(RunInstruction(context, *step.inst, operands_, context.WantedOf(*step.inst)));
  return {};
}

void Repeated::HandOut(const Context& context, ShadowValue& result) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int step = outputs_[i];
    if (trips_ > 0 && IsPassedOn(i)) continue;
    ShadowValue& output = OutputOf(i, result);
    if (at_[step] != &output) output = *at_[step];
    if (is_tuple_ && context.options.widened) MarkComputed(output);
  }
  for (const int done : last_out_) made_[done] = ShadowValue();
}

// ---- Loops ----------------------------------------------------------------------------------------------------------

namespace {

std::vector<bool> ExactElements(const Context& context, const Instruction& loop) {
  std::vector<bool> exact(loop.shape().IsTuple() ? loop.shape().elements().size() : 1);
  for (size_t i = 0; i < exact.size(); ++i)
    exact[i] = context.options.is_exact_state && context.options.is_exact_state(loop, static_cast<int64_t>(i));
  return exact;
}

void TakeAsExact(const std::vector<bool>& elements, ShadowValue& state) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]) shadow::TakeAsExact(state.shape.IsTuple() ? state.elements[i] : state);
  }
}

}  // namespace

Loop::Loop(const Instruction& loop)
    : loop_(loop),
      condition_(*loop.attrs<WhileAttrs>().condition, UnchangedElements(loop)),
      body_(*loop.attrs<WhileAttrs>().body, UnchangedElements(loop)) {}

Result<ShadowValue> Loop::Run(Context& context, const ShadowValue& init) {
  condition_.Restart();
  body_.Restart();
  ShadowValue states[] = {init, ShadowValue()};
  ShadowValue *state = &states[0], *next = &states[1];  // After a trip, `next` is the state before it.
  ShadowValue go_on;
  bool decided = true;
  const std::vector<bool> exact = ExactElements(context, loop_);
  for (int64_t iteration = 0;; ++iteration) {
    TakeAsExact(exact, *state);
    const ShadowValue* const args[] = {state};
    TRY(condition_.Run(context, args, go_on));
    const bool ends = IsOpen(go_on) && !HasComputed(context, go_on);
    decided = decided && !IsOpen(go_on);
    if (ends || go_on.exact.GetInt(0) == 0) {
      ShadowValue result = ends      ? Undetermined(loop_.shape())
                           : decided ? std::move(*state)
                                     : UndeterminedOf(std::move(*state));
      if (context.options.on_loop_end) context.options.on_loop_end(loop_, iteration, std::move(*next), result);
      condition_.Restart();
      body_.Restart();
      return result;
    }
    if (context.options.max_loop_iterations > 0 && iteration >= context.options.max_loop_iterations) {
      FAIL(LimitError("R021", Str("'", loop_.name(), "' exceeded ", iteration, " iterations"), loop_.range())
               .RaisedBy("max_loop_iterations"));
    }
    if (context.options.on_iteration) context.options.on_iteration(loop_, iteration, *state);
    if (const WorkMeter* const meter = context.options.meter) {
      TRY(Spend(context, loop_, condition_.later_steps() + body_.later_steps()));
      if (meter->on_trip) meter->on_trip(loop_, iteration);
    }
    TRY(body_.Run(context, args, *next));
    std::swap(state, next);
  }
}

}  // namespace hlo::shadow
