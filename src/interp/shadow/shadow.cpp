// Running a computation: which instructions are needed, control flow, and which rule each instruction has.
#include "interp/shadow/shadow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "interp/interpreter.h"
#include "interp/shadow/rules.h"
#include "ir/markers.h"
#include "ir/side_effects.h"

namespace hlo {
namespace shadow {

const WantedResults* Context::WantedOf(const Instruction& inst) const {
  if (options.wanted == nullptr) return nullptr;
  const auto it = options.wanted->find(&inst);
  return it == options.wanted->end() ? nullptr : &it->second;
}

namespace {

// Each level is several frames of the stack, and large ones.
constexpr int kDeepest = 500;

using ValueMap = std::unordered_map<const Instruction*, ShadowValue>;

// What the root needs, operands first; instructions with a given value are needed, their operands are not. Those of
// `kept` have values already.
std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root,
                                            const ValueMap* kept = nullptr) {
  std::unordered_map<const Instruction*, bool> needed{{&root, true}};
  std::vector<Instruction*> order = root.computation().PostOrder();
  std::vector<const Instruction*> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!needed.contains(*it) || (kept != nullptr && kept->contains(*it))) continue;
    result.push_back(*it);
    if (*it != &root && context.options.given && context.options.given(**it)) continue;
    for (const Instruction* operand : (*it)->operands()) needed.emplace(operand, true);
  }
  std::ranges::reverse(result);
  return result;
}

// Of a scalar that control follows.
bool IsOpen(const ShadowValue& scalar) { return scalar.HasOpen() && scalar.open.GetInt(0) != 0; }
// Then control follows the value all the same.
bool HasComputed(const Context& context, const ShadowValue& scalar) {
  return context.options.widened && (scalar.open.data<uint8_t>()[0] & kLost) == 0;
}

// A computation that runs again and again on a state, of which some elements stay what they are. What is computed from
// those alone, and what is given, is so in the first trip; in later ones it is what it was. A sum of a million elements
// in a loop of a million trips would take hours.
//
// A later trip costs what its instructions do: places of values, operands and last uses are found once, also of the
// fusions and calls in it.
class Repeated {
 public:
  // `unchanged`: by element of the state; of what is no loop's, none.
  explicit Repeated(const Computation& computation, std::vector<bool> unchanged = {})
      : root_(computation.root()), unchanged_(std::move(unchanged)) {}

  Result<ShadowValue> Run(Context& context, Operands args);

 private:
  struct Step {
    const Instruction* inst;
    std::vector<int> operands;         // Places.
    bool is_given = false;             // Too large to be kept.
    bool is_large = false;             // Not left until the next trip makes it anew.
    bool is_integer = false;           // Elementwise, and no float takes part.
    std::unique_ptr<Repeated> callee;  // Of a fusion or call.
  };

  bool IsUnchanged(const Context& context, const Instruction& inst,
                   const std::unordered_set<const Instruction*>& known) const {
    if (inst.Is(Opcode::kParameter) || &inst == &root_) return false;
    if (context.options.given && context.options.given(inst)) return true;
    if (!unchanged_.empty() && inst.Is(Opcode::kGetTupleElement) && inst.operand(0).Is(Opcode::kParameter))
      return unchanged_[inst.tuple_index()];
    const auto is_known = [&](const Instruction* operand) { return known.contains(operand); };
    return std::ranges::all_of(inst.operands(), is_known) && !HasSideEffect(inst);
  }
  // What later trips begin with: unchanged, and used by what is not.
  std::unordered_set<const Instruction*> Frontier(const Context& context) const {
    std::unordered_set<const Instruction*> known, frontier;
    for (const Instruction* inst : order_) {
      if (IsUnchanged(context, *inst, known)) {
        known.insert(inst);
        continue;
      }
      for (const Instruction* operand : inst->operands()) {
        if (known.contains(operand) && operand->shape().IsArray() && operand->shape().NumElements() <= kMostKept)
          frontier.insert(operand);
      }
    }
    return frontier;
  }

  Result<ShadowValue> FirstTrip(Context& context, Operands args);
  void PlanTrips(const Context& context);
  Step PlanStep(const Context& context, const Instruction& inst,
                const std::unordered_map<const Instruction*, int>& places) const;
  Result<ShadowValue> LaterTrip(Context& context, Operands args);
  bool IsMade(int place) const;
  Result<ShadowValue> RunStep(Context& context, const Step& step);
  Result<std::optional<ShadowValue>> OfIntegers(Context& context, const Step& step);
  ShadowValue TakeTuple(const Step& step);

  // Elements of a value; larger ones take too much memory.
  static constexpr int64_t kMostKept = 1 << 20, kMostLeft = 1 << 8;

  const Instruction& root_;
  const std::vector<bool> unchanged_;
  std::vector<const Instruction*> order_;  // Of the first trip.
  ValueMap kept_;
  bool is_first_ = true;

  // Of later trips. Places are those of kept values, then of the steps.
  std::vector<Step> steps_;
  std::vector<int> uses_, left_;        // By place; left_: in this trip.
  std::vector<const ShadowValue*> at_;  // By place.
  std::vector<ShadowValue> made_;       // By step; arguments and their elements lie elsewhere.
  std::vector<const ShadowValue*> operands_;
  std::optional<StepInterpreter> integers_;
};

// By element: does the body hand on what it was given?
std::vector<bool> UnchangedElements(const Instruction& loop) {
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  std::vector<bool> unchanged(loop.shape().IsTuple() ? loop.shape().elements().size() : 0, false);
  if (!body.root().Is(Opcode::kTuple)) return unchanged;
  for (size_t i = 0; i < unchanged.size(); ++i) {
    const Instruction& next = body.root().operand(i);
    unchanged[i] = next.Is(Opcode::kGetTupleElement) && next.operand(0).Is(Opcode::kParameter) &&
                   next.tuple_index() == static_cast<int64_t>(i);
  }
  return unchanged;
}

Result<ShadowValue> RunWhile(Context& context, const Instruction& loop, const ShadowValue& init) {
  const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
  const std::vector<bool> unchanged = UnchangedElements(loop);
  Repeated condition(*attrs.condition, unchanged), body(*attrs.body, unchanged);
  ShadowValue state = init, last;
  const ShadowValue* const args[] = {&state};
  bool decided = true;
  for (int64_t iteration = 0;; ++iteration) {
    if (context.options.exact_loop_states) state = DropBounds(std::move(state));
    const ShadowValue go_on = TRY(condition.Run(context, args));
    const bool ends = IsOpen(go_on) && !HasComputed(context, go_on);
    decided = decided && !IsOpen(go_on);
    if (ends || go_on.exact.GetInt(0) == 0) {
      ShadowValue result = ends      ? Undetermined(loop.shape())
                           : decided ? std::move(state)
                                     : UndeterminedOf(std::move(state));
      if (context.options.on_loop_end) context.options.on_loop_end(loop, iteration, std::move(last), result);
      return result;
    }
    if (context.options.max_loop_iterations > 0 && iteration >= context.options.max_loop_iterations) {
      FAIL(LimitError("L010", Str("'", loop.name(), "' exceeded ", iteration, " iterations"), loop.range())
               .RaisedBy("max_loop_iterations"));
    }
    if (context.options.on_iteration) context.options.on_iteration(loop, iteration, state);
    ShadowValue next = TRY(body.Run(context, args));
    if (context.options.on_loop_end) last = std::move(state);
    state = std::move(next);
  }
}

Result<ShadowValue> RunConditional(Context& context, const Instruction& inst, Operands operands) {
  const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
  const ShadowValue& selector = *operands[0];
  if (IsOpen(selector) && !HasComputed(context, selector)) return Undetermined(inst.shape());
  const int64_t count = static_cast<int64_t>(branches.size());
  int64_t branch = selector.exact.GetInt(0);
  if (selector.shape.type() == PrimitiveType::kPred) branch = branch != 0 ? 0 : 1;
  if (branch < 0 || branch >= count) branch = count - 1;
  ShadowValue result = TRY(Run(context, *branches[branch], operands.subspan(branch + 1, 1)));
  return IsOpen(selector) ? UndeterminedOf(std::move(result)) : std::move(result);
}

Result<ShadowValue> ByRule(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted) {
  // Without elements there is nothing to bound.
  if (inst.shape().IsArray() && inst.shape().NumElements() == 0) return ToShadow(Literal(inst.shape()));
  switch (inst.opcode()) {
    case Opcode::kConstant: {
      ShadowValue value = ToShadow(inst.literal());
      value.shape = inst.shape();
      return value;
    }
    case Opcode::kTuple: {
      ShadowValue tuple;
      tuple.shape = inst.shape();
      for (const ShadowValue* operand : operands) tuple.elements.push_back(*operand);
      return tuple;
    }
    case Opcode::kGetTupleElement: return operands[0]->elements[inst.tuple_index()];
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: return *operands[0];
    case Opcode::kCopy: {
      if (inst.shape().type() != inst.operand(0).shape().type()) break;
      ShadowValue copy = *operands[0];
      copy.shape = inst.shape();
      return copy;
    }
    case Opcode::kCustomCall: {
      const bool nothing = inst.shape().IsTuple() && inst.shape().elements().empty();
      if (!nothing && !IsIdentityMarker(inst)) break;
      const bool one = operands.size() == 1 && Compatible(operands[0]->shape, inst.shape());
      ShadowValue marked = one ? *operands[0] : ShadowValue();
      marked.shape = inst.shape();
      for (size_t i = 0; !one && i < inst.shape().elements().size(); ++i) marked.elements.push_back(*operands[i]);
      return marked;
    }
    case Opcode::kCall: return Run(context, *inst.attrs<CallAttrs>().to_apply, operands);
    case Opcode::kFusion: return Run(context, *inst.attrs<FusionAttrs>().calls, operands);
    case Opcode::kMap: {
      const Lifted body(*inst.attrs<MapAttrs>().to_apply, inst.shape().dims());
      return body(context, operands);
    }
    case Opcode::kWhile: return RunWhile(context, inst, *operands[0]);
    case Opcode::kConditional: return RunConditional(context, inst, operands);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return BatchNorm(context, inst, operands);
    case Opcode::kReduce: return Reduce(context, inst, operands);
    case Opcode::kReduceWindow: return ReduceWindow(context, inst, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(context, inst, operands);
    case Opcode::kScatter: return Scatter(context, inst, operands);
    case Opcode::kDot: return Dot(context, inst, operands, wanted);
    case Opcode::kConvolution: return Convolution(context, inst, operands, wanted);
    default: break;
  }
  if (IsMovement(inst)) return Move(context, inst, operands);
  if (IsElementwiseRule(inst)) return Elementwise(context, inst, operands);

  // What is left and touches floats is exact by nature or has no rule.
  const auto is_exact_type = [](const Shape& shape) {
    bool exact = true;
    ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
      exact = exact && !IsFloat(leaf.type()) && !IsComplex(leaf.type());
    });
    return exact;
  };
  const bool integers =
      is_exact_type(inst.shape()) &&
      std::ranges::all_of(inst.operands(), [&](const Instruction* operand) { return is_exact_type(operand->shape()); });
  switch (inst.opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      if (auto ranked = TRY(SortByRanks(context, inst, operands))) return std::move(*ranked);
      return ThroughInterpreter(context, inst, operands);
    case Opcode::kIota:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize: return ThroughInterpreter(context, inst, operands);
    case Opcode::kBitcastConvert:
    case Opcode::kBitcast: return BitsOf(context, inst, operands);
    default: break;
  }
  if (integers) return ThroughInterpreter(context, inst, operands);
  FAIL(UnsupportedAt(inst, "U041", Str("no error bounds for '", inst.opcode(), "' on ", inst.shape())));
}

// An output's overflow is left to the comparator (AfterOverflow). Whoever reads the value inside the kernel may have it
// rounded, which is infinite, or as it was held. Nothing: it does not overflow.
std::optional<ShadowValue> AsRead(const Context& context, const Instruction& output, const ShadowValue& value) {
  if (!value.shape.IsArray() || !value.IsFloat() || context.options.widened) return std::nullopt;
  const double overflow = RoundingTo(output.shape().type(), context.ftz()).overflow;
  const double* v = Values(value.value);
  const double* e = value.HasBound() ? Values(value.bound) : nullptr;
  const auto overflows = [&](int64_t i) {
    return std::isfinite(v[i]) && std::fabs(v[i]) + (e == nullptr ? 0 : e[i]) >= overflow;
  };
  std::optional<ShadowValue> read;
  for (int64_t i = 0; i < value.shape.NumElements(); ++i) {
    if (!overflows(i)) continue;
    if (!read) {
      read = value;
      if (!read->HasBound()) read->bound = Zeros(value.shape);
    }
    read->bound.mutable_data<double>()[i] = kUndetermined;
    if (read->HasLikely()) read->likely.mutable_data<double>()[i] = kUndetermined;
  }
  return read;
}

// The root's value. `values` has those that are known; with `keep` it has afterwards those of `keep` too.
Result<ShadowValue> RunInOrder(Context& context, const Instruction& root, Operands args,
                               const std::vector<const Instruction*>& order, ValueMap values,
                               const std::unordered_set<const Instruction*>* keep = nullptr, ValueMap* kept = nullptr) {
  ValueMap read;  // Where what is read is another one.
  std::unordered_map<const Instruction*, int64_t> uses;
  for (const Instruction* inst : order) {
    for (const Instruction* operand : inst->operands()) ++uses[operand];
  }
  ++uses[&root];
  for (const Instruction* inst : order) {
    std::optional<ShadowValue> given;
    if (context.options.given && inst != &root) given = context.options.given(*inst);
    if (given) {
      values[inst] = std::move(*given);
    } else if (inst->Is(Opcode::kParameter)) {
      values[inst] = *args[inst->parameter_number()];
    } else {
      std::vector<const ShadowValue*> operands;
      for (const Instruction* operand : inst->operands()) {
        const auto other = inst->Is(Opcode::kTuple) ? read.end() : read.find(operand);
        operands.push_back(other != read.end() ? &other->second : &values[operand]);
      }
      values[inst] = TRY(RunInstruction(context, *inst, operands, context.WantedOf(*inst)));
      if (uses[inst] > 1 && context.IsOutput(*inst)) {
        if (auto other = AsRead(context, *inst, values[inst])) read[inst] = std::move(*other);
      }
    }
    if (keep != nullptr && keep->contains(inst)) (*kept)[inst] = values[inst];
    for (const Instruction* operand : inst->operands()) {
      if (--uses[operand] > 0) continue;
      values.erase(operand);
      read.erase(operand);
    }
  }
  return std::move(values[&root]);
}

Result<ShadowValue> Repeated::Run(Context& context, Operands args) {
  if (context.options.given) {
    if (auto given = context.options.given(root_)) return std::move(*given);
  }
  if (context.depth == kDeepest) return RunTo(context, root_, args);  // Says so.
  ++context.depth;
  auto result = is_first_ ? FirstTrip(context, args) : LaterTrip(context, args);
  --context.depth;
  return result;
}

Result<ShadowValue> Repeated::FirstTrip(Context& context, Operands args) {
  order_ = NeededOrder(context, root_);
  const std::unordered_set<const Instruction*> frontier = Frontier(context);
  auto result = RunInOrder(context, root_, args, order_, {}, &frontier, &kept_);
  is_first_ = false;
  return result;
}

void Repeated::PlanTrips(const Context& context) {
  std::unordered_map<const Instruction*, int> places;
  for (const auto& [inst, value] : kept_) {
    places.emplace(inst, static_cast<int>(at_.size()));
    at_.push_back(&value);
  }
  for (const Instruction* inst : NeededOrder(context, root_, &kept_)) {
    steps_.push_back(PlanStep(context, *inst, places));
    places.emplace(inst, static_cast<int>(at_.size()));
    at_.push_back(nullptr);
  }
  uses_.resize(at_.size());
  for (const Step& step : steps_) {
    for (const int place : step.operands) ++uses_[place];
  }
  made_.resize(steps_.size());
}

Repeated::Step Repeated::PlanStep(const Context& context, const Instruction& inst,
                                  const std::unordered_map<const Instruction*, int>& places) const {
  Step step{.inst = &inst};
  step.is_large = !inst.shape().IsArray() || inst.shape().NumElements() > kMostLeft;
  step.is_given = &inst != &root_ && context.options.given && context.options.given(inst);
  if (step.is_given) return step;
  for (const Instruction* operand : inst.operands()) step.operands.push_back(places.at(operand));
  const bool is_empty = inst.shape().IsArray() && inst.shape().NumElements() == 0;
  const auto is_integer = [](const Instruction* x) {
    return x->shape().IsArray() && !IsFloat(x->shape().type()) && !IsComplex(x->shape().type());
  };
  step.is_integer =
      inst.Is(kElementwise) && !is_empty && is_integer(&inst) && std::ranges::all_of(inst.operands(), is_integer);
  if (is_empty) return step;
  if (inst.Is(Opcode::kFusion)) step.callee = std::make_unique<Repeated>(*inst.attrs<FusionAttrs>().calls);
  if (inst.Is(Opcode::kCall)) step.callee = std::make_unique<Repeated>(*inst.attrs<CallAttrs>().to_apply);
  return step;
}

// Is the value in made_? Else it is there for the whole trip.
bool Repeated::IsMade(int place) const {
  const auto kept = static_cast<int>(kept_.size());
  return place >= kept && at_[place] == &made_[place - kept];
}

// No instruction here is an output (Context::IsOutput), so that what is read of one is its value (AsRead).
Result<ShadowValue> Repeated::LaterTrip(Context& context, Operands args) {
  if (steps_.empty()) PlanTrips(context);
  left_ = uses_;
  const size_t kept = kept_.size();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Instruction& inst = *step.inst;
    const ShadowValue*& value = at_[kept + i];
    if (inst.Is(Opcode::kParameter) && !step.is_given) {
      value = args[inst.parameter_number()];
    } else if (inst.Is(Opcode::kGetTupleElement) && !step.is_given && !IsMade(step.operands[0])) {
      value = &at_[step.operands[0]]->elements[inst.tuple_index()];
    } else {
      made_[i] = TRY(RunStep(context, step));
      value = &made_[i];
    }
    for (const int place : step.operands) {
      if (--left_[place] == 0 && IsMade(place) && steps_[place - kept].is_large) made_[place - kept] = ShadowValue();
    }
  }
  return at_.back() == &made_.back() ? std::move(made_.back()) : *at_.back();
}

Result<ShadowValue> Repeated::RunStep(Context& context, const Step& step) {
  if (step.is_given) return *context.options.given(*step.inst);
  if (step.is_integer) {
    if (auto value = TRY(OfIntegers(context, step))) return std::move(*value);
  }
  operands_.clear();
  for (const int place : step.operands) operands_.push_back(at_[place]);
  if (step.callee != nullptr) return step.callee->Run(context, operands_);
  const auto is_determined = [](const ShadowValue* value) { return !AnyUndetermined(*value); };
  if (step.inst == &root_ && root_.Is(Opcode::kTuple) && std::ranges::all_of(operands_, is_determined))
    return TakeTuple(step);
  return RunInstruction(context, *step.inst, operands_, context.WantedOf(*step.inst));
}

// As ThroughInterpreter, without making the interpreter ready each time. Nothing where something is not decided.
Result<std::optional<ShadowValue>> Repeated::OfIntegers(Context& context, const Step& step) {
  std::vector<Literal> operands;
  for (const int place : step.operands) {
    if (at_[place]->HasOpen()) return std::nullopt;
    operands.push_back(at_[place]->exact);
  }
  if (!integers_) integers_.emplace(InterpretOptions{.max_loop_iterations = context.options.max_loop_iterations});
  ShadowValue value;
  value.exact = TRY(integers_->Run(*step.inst, operands));
  if (!Compatible(value.exact.shape(), step.inst->shape())) return std::nullopt;
  value.shape = step.inst->shape();
  return std::optional(std::move(value));
}

// What nothing else reads goes on as it is.
ShadowValue Repeated::TakeTuple(const Step& step) {
  const size_t kept = kept_.size();
  ShadowValue tuple;
  tuple.shape = step.inst->shape();
  tuple.elements.reserve(step.operands.size());
  for (const int place : step.operands) {
    if (IsMade(place) && left_[place] == 1) tuple.elements.push_back(std::move(made_[place - kept]));
    else tuple.elements.push_back(*at_[place]);
  }
  return tuple;
}

// The results of a kernel are rounded to their declared types, also where what they come from was held wider.
void RoundToDeclared(ShadowValue& value, bool ftz) {
  for (ShadowValue& element : value.elements) RoundToDeclared(element, ftz);
  if (value.choices) {
    Choices rounded = *value.choices;
    RoundToDeclared(rounded.candidates, ftz);
    value.choices = std::make_shared<const Choices>(std::move(rounded));
  }
  if (!value.shape.IsArray() || !value.IsFloat() || BitWidth(value.held) <= BitWidth(value.shape.type())) return;
  const Rounding rounding = RoundingTo(value.shape.type(), ftz);
  if (!value.HasBound()) return;  // Exact values of the declared type: arguments and constants.
  for (Literal* literal : {&value.bound, &value.likely}) {
    if (literal->byte_size() == 0) continue;
    auto bound = literal->mutable_data<double>();
    const double* v = Values(value.value);
    for (size_t i = 0; i < bound.size(); ++i)
      bound[i] = (bound[i] + HalfStep(rounding, (std::fabs(v[i]) + bound[i]) * kUp)) * kUp;
  }
  value.held = value.shape.type();
}

// Of what its rule leaves undetermined in one of two modules that are compared: what it gives for its operands' values.
Status AddComputed(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted,
                   ShadowValue& result) {
  // The instructions inside have it.
  if (inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kMap)) return {};
  if (!AnyUndetermined(result)) return {};
  std::vector<ShadowValue> computed;
  for (const ShadowValue* operand : operands) computed.push_back(AsComputed(*operand));
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& operand : computed) pointers.push_back(&operand);
  TakeComputed(TRY(ByRule(context, inst, pointers, wanted)), result);
  return {};
}

}  // namespace

Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands,
                                   const WantedResults* wanted) {
  const bool empty = inst.shape().IsArray() && inst.shape().NumElements() == 0;
  if (context.options.widened && !empty && IsOfComplex(inst)) return OfComplex(context, inst, operands);
  auto by_rule = ByRule(context, inst, operands, wanted);
  if (!by_rule && context.options.widened && by_rule.error().exit == ExitCode::kUnsupported)
    return Interpreted(context, inst, operands);
  ShadowValue result = TRY(std::move(by_rule));
  if (context.options.widened) TRY(AddComputed(context, inst, operands, wanted, result));
  const bool copies = inst.Is(Opcode::kCopy) && inst.shape().type() == operands[0]->shape.type();
  if (!inst.Is(kElementwise) || copies) return result;
  result.choices = operands.size() == 1 ? TRY(ChoicesOfUnary(context, inst, *operands[0])) : nullptr;
  return result;
}

Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args) {
  if (context.options.given) {
    if (auto given = context.options.given(computation.root())) return std::move(*given);
  }
  return RunTo(context, computation.root(), args);
}

Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args) {
  if (context.depth == kDeepest) {
    FAIL(UnsupportedAt(root, "U002", Str("the shadow does not follow calls that are nested deeper than ", kDeepest)));
  }
  ++context.depth;
  auto result = RunInOrder(context, root, args, NeededOrder(context, root), {});
  --context.depth;
  return result;
}

}  // namespace shadow

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const ShadowValue> args,
                              const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &computation};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  Shadow result;
  result.value = TRY(shadow::Run(context, computation, pointers));
  if (!options.widened) shadow::RoundToDeclared(result.value, context.ftz());
  result.heuristic = context.heuristic;
  return result;
}

Result<ShadowValue> EvaluateShadowOf(const Instruction& inst, std::span<const ShadowValue> args,
                                     const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &inst.computation()};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  return shadow::RunTo(context, inst, pointers);
}

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const Literal> args,
                              const ShadowOptions& options) {
  std::vector<ShadowValue> values;
  for (const Literal& arg : args) values.push_back(ToShadow(arg));
  return EvaluateShadow(computation, std::span<const ShadowValue>(values), options);
}

}  // namespace hlo
