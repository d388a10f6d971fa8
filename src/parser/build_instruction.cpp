// Builds instructions from their parsed parts. Makes the checks that would come too late in the verifier, infers
// omitted shapes, and expands the short spelling of asynchronous ops.
#include <algorithm>

#include "base/text.h"
#include "ir/shapes/shape_rules.h"
#include "parser/pending.h"

namespace hlo {
namespace {

constexpr int64_t kMaxTupleShapes = 1000000;

int64_t CountShapes(const Shape& shape) {
  int64_t count = 1;
  for (const Shape& element : shape.elements()) count += CountShapes(element);
  return count;
}

}  // namespace

bool Reader::CheckOperandCount(const Pending& pending) {
  const int arity = RowOf(pending.opcode).arity;
  const size_t found = pending.operands.size();
  if (arity != kVariadic && static_cast<size_t>(arity) != found) {
    return Fail("V001",
                Str("'", pending.opcode, "' takes ", arity, arity == 1 ? " operand" : " operands", ", found ", found),
                pending.operands_end);
  }
  if (pending.opcode == Opcode::kTuple && pending.shape) {
    if (!pending.shape->IsTuple())
      return Fail("V001", Str("the shape of a tuple is ", *pending.shape, ", expected a tuple shape"),
                  pending.opcode_range);
    const size_t elements = pending.shape->elements().size();
    if (elements != found)
      return Fail("V001",
                  Str("the shape has ", elements, elements == 1 ? " element" : " elements", ", but the tuple has ",
                      found, found == 1 ? " operand" : " operands"),
                  pending.operands_end);
  }
  return true;
}

// Inferred tuples are counted together, because tuples of tuples can double with every line.
bool Reader::CheckTupleSize(const Pending& pending) {
  int64_t shapes = 0;
  for (const Instruction* operand : pending.operands) shapes += CountShapes(operand->shape());
  if (!pending.shape) shapes = inferred_shapes_ += shapes;
  if (shapes <= kMaxTupleShapes) return true;
  return FailLimit("P095", Str("tuples hold more than ", kMaxTupleShapes, " shapes"), pending.opcode_range);
}

// Some collectives require attributes that are optional in the struct.
bool Reader::CheckCollective(Pending& pending) {
  const auto* collective = pending.attributes.GetIf<CollectiveAttrs>();
  if (collective == nullptr) return true;
  const Opcode op = pending.opcode;
  const bool reduces = op == Opcode::kAllReduce || op == Opcode::kAllReduceStart || op == Opcode::kReduceScatter ||
                       op == Opcode::kCollectiveReduce;
  const bool along_dimension =
      op == Opcode::kAllGather || op == Opcode::kAllGatherStart || op == Opcode::kReduceScatter;
  const bool lacks_function = reduces && collective->to_apply == nullptr;
  if (lacks_function || (along_dimension && !collective->dimension)) {
    return Fail("P036", Str("'", op, "' needs the attribute '", lacks_function ? "to_apply" : "dimensions", "'"),
                pending.opcode_range);
  }
  if (op == Opcode::kRaggedAllToAll && collective->dimension) {
    Warn("W010", "the attribute dimensions= of a ragged-all-to-all is ignored", pending.opcode_range);
    pending.attributes.Get<CollectiveAttrs>().dimension.reset();
  }
  return true;
}

bool Reader::Build(Pending& pending, std::string_view name, Instruction*& inst) {
  if (pending.async != Pending::Async::kNone && !WrapAsync(pending)) return false;
  if (!CheckOperandCount(pending)) return false;
  if (pending.opcode == Opcode::kParameter) {
    const int64_t number = pending.attributes.Get<ParameterAttrs>().number;
    const auto parameters = computation_->parameters();
    if (number < static_cast<int64_t>(parameters.size()) && parameters[number] != nullptr) {
      Fail("V050", Str("parameter ", number, " is defined twice"), pending.opcode_range);
      AddNote("the first definition", parameters[number]->range());
      return false;
    }
  }
  const bool inferred = !pending.shape.has_value();
  if (inferred &&
      ((RowOf(pending.opcode).traits & kInferable) == 0 || RowOf(pending.opcode).shape_rule == ShapeAsWritten)) {
    return Fail("P032",
                Str("the result shape of '", pending.opcode, "' cannot be inferred; write it before the opcode"),
                pending.opcode_range);
  }
  if (!CheckCollective(pending)) return false;
  if (pending.broken) return true;
  const bool continues = pending.opcode == Opcode::kAsyncUpdate || pending.opcode == Opcode::kAsyncDone;
  if (continues && !CheckContinued(pending)) return false;
  if (pending.opcode == Opcode::kTuple && !CheckTupleSize(pending)) return false;
  if (pending.opcode == Opcode::kMap && !pending.operands.empty()) {
    // Written dimensions are ignored, as in XLA.
    std::vector<int64_t>& dimensions = pending.attributes.Get<MapAttrs>().dimensions;
    const std::vector<int64_t> written = std::exchange(dimensions, {});
    for (int64_t i = 0; i < pending.operands[0]->shape().rank(); ++i) dimensions.push_back(i);
    if (written != dimensions && !written.empty())
      Warn("W010", Str("dimensions={", Join(written, ","), "} are ignored: a map goes over all dimensions"),
           pending.opcode_range);
  }
  bool calls_broken = false;
  if (!broken_.empty()) {
    ForEachCalled(pending.attributes,
                  [&](Computation*& called) { calls_broken = calls_broken || broken_.contains(called); });
  }
  Instruction& made = computation_->AddNamed(pending.opcode, inferred ? Shape() : std::move(*pending.shape),
                                             std::move(pending.operands), std::move(pending.attributes), name);
  made.SetRange({pending.begin, last_end_});
  for (Instruction* before : pending.predecessors) made.AddControlPredecessor(*before);
  if (made.Is(Opcode::kConditional) && !calls_broken) {
    const ConditionalAttrs& a = made.attrs<ConditionalAttrs>();
    const bool two = a.true_computation != nullptr && a.false_computation != nullptr;
    const bool one = (a.true_computation != nullptr) != (a.false_computation != nullptr);
    if (one || two == !a.branch_computations.empty()) {
      return Fail("V147", "'conditional' needs either true_computation and false_computation, or branch_computations",
                  pending.opcode_range);
    }
  }
  if (inferred) {
    if (calls_broken) return true;
    Result<Shape> shape = InferShape(made);
    if (!shape) {
      for (Diagnostic& diagnostic : shape.error().diagnostics) {
        if (!Stopped()) diagnostics_.push_back(std::move(diagnostic));
      }
      return false;
    }
    if (!CheckSize(*shape, pending.opcode_range)) return false;
    made.SetShape(std::move(*shape));
  }
  if (pending.common) made.SetCommon(std::move(*pending.common));
  SpreadSharding(made);
  inst = &made;
  return true;
}

namespace {

// The asynchronous op that makes `state`, directly or as an element of tuples.
const Instruction* AsyncProducer(const Instruction& state) {
  std::vector<int64_t> index;
  const Instruction* at = &state;
  for (;;) {
    if (at->attributes().GetIf<AsyncAttrs>() != nullptr) return index.empty() ? at : nullptr;
    if (at->Is(Opcode::kGetTupleElement)) {
      index.push_back(at->tuple_index());
      at = &at->operand(0);
    } else if (at->Is(Opcode::kTuple) && !index.empty() && index.back() < at->operand_count()) {
      at = &at->operand(index.back());
      index.pop_back();
    } else {
      return nullptr;
    }
  }
}

}  // namespace

// Checks V171: updates and dones have the attributes of their chain's start, or none.
bool Reader::CheckContinued(const Pending& pending) {
  const AsyncAttrs& said = pending.attributes.Get<AsyncAttrs>();
  const Instruction* before = pending.operands.empty() ? nullptr : AsyncProducer(*pending.operands[0]);
  while (before != nullptr && !before->Is(Opcode::kAsyncStart) && before->operand_count() > 0)
    before = AsyncProducer(before->operand(0));
  if (before == nullptr) return true;
  const AsyncAttrs& start = before->attrs<AsyncAttrs>();
  if (!pending.thread_range.empty() && said.thread != start.thread) {
    return Fail("V171",
                Str("this op runs on thread \"", said.thread, "\", but '", before->name(), "' runs on thread \"",
                    start.thread, "\""),
                pending.thread_range);
  }
  if (start.calls == nullptr || !start.calls->has_root()) return true;
  if (!pending.calls_range.empty() && said.calls != start.calls) {
    return Fail(
        "V171",
        Str("'", before->name(), "' wraps '", start.calls->name(), "', but this op names '", said.calls->name(), "'"),
        pending.calls_range);
  }
  const Opcode wrapped = start.calls->root().opcode();
  if (!pending.continued || *pending.continued == wrapped) return true;
  return Fail("V171", Str("'", before->name(), "' wraps '", wrapped, "', but this op wraps '", *pending.continued, "'"),
              pending.opcode_range);
}

// Expands OPCODE-start, OPCODE-update or OPCODE-done. A start wraps OPCODE into a computation.
bool Reader::WrapAsync(Pending& pending) {
  const Pending::Async async = std::exchange(pending.async, Pending::Async::kNone);
  const Opcode wrapped = std::exchange(pending.opcode, async == Pending::Async::kStart    ? Opcode::kAsyncStart
                                                       : async == Pending::Async::kUpdate ? Opcode::kAsyncUpdate
                                                                                          : Opcode::kAsyncDone);
  if (!pending.shape) return Fail("V170", "an asynchronous op needs its shape written before it", pending.opcode_range);
  const Shape& state = *pending.shape;
  if (async != Pending::Async::kDone &&
      (!state.IsTuple() || state.elements().size() < 2 || !state.element(0).IsTuple())) {
    return Fail("V170", Str("the shape is ", state, ", expected ((operands...), result, ...)"), pending.opcode_range);
  }
  if (async != Pending::Async::kStart) {
    pending.continued = wrapped;
    pending.attributes = std::move(*pending.async_attributes);
    return true;
  }
  if (pending.broken) return true;
  Computation& computation = module_->AddComputation("async_wrapped");
  computation.execution_thread = pending.async_attributes->thread;
  Operands parameters;
  for (const Shape& shape : state.element(0).elements()) {
    const auto number = static_cast<int64_t>(parameters.size());
    parameters.push_back(
        &computation.AddNamed(Opcode::kParameter, Shape(shape), {}, ParameterAttrs{number}, "async_param"));
  }
  if (RowOf(wrapped).arity != kVariadic && static_cast<size_t>(RowOf(wrapped).arity) != parameters.size()) {
    return Fail("V001", Str("'", wrapped, "' takes ", RowOf(wrapped).arity, " operands, found ", parameters.size()),
                pending.operands_end);
  }
  Instruction& root = computation.AddNamed(wrapped, Shape(state.element(1)), std::move(parameters),
                                           std::move(pending.attributes), "async_op");
  root.SetRange({pending.begin, last_end_});
  computation.SetRoot(root);
  if (pending.common) {
    CommonAttrs copied = *pending.common;
    copied.sharding = {};
    SchedulingName& scheduled = copied.metadata.scheduling_name;
    scheduled = {.other = scheduled.NameFor(defining_)};
    root.mutable_common() = std::move(copied);
  }
  module_->ClaimNames(computation);
  pending.async_attributes->calls = &computation;
  pending.attributes = std::move(*pending.async_attributes);
  return true;
}

}  // namespace hlo
