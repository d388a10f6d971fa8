#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "interp/evaluation.h"
#include "interp/ops/elementwise.h"
#include "interp/ops/scalar_body.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr bool IsFrameOp(Opcode opcode) {
  return opcode == Opcode::kParameter || opcode == Opcode::kCall || opcode == Opcode::kFusion ||
         opcode == Opcode::kWhile || opcode == Opcode::kConditional || opcode == Opcode::kAsyncStart ||
         MeetsDevices(opcode);
}

constexpr auto kHandlers = [] {
  std::array<Handler, 256> handlers = {};
#define HLO_OPCODE(Name, elementwise)                                                        \
  if constexpr (elementwise) handlers[static_cast<int>(Opcode::k##Name)] = &EvalElementwise; \
  else if constexpr (!IsFrameOp(Opcode::k##Name)) handlers[static_cast<int>(Opcode::k##Name)] = &Eval##Name;
#include "ir/opcodes.inc"
  return handlers;
}();

}  // namespace

Session::Session(const InterpretOptions& options, int nesting, std::optional<DevicePlace> place)
    : rng_state{0x7012395 ^ options.seed, 0}, options_(options), nesting_(nesting), place_(place) {}
Session::~Session() = default;

Result<const ScalarBody*> Session::Body(const Computation& computation) {
  std::unique_ptr<ScalarBody>& body = bodies_[&computation];
  if (body == nullptr) body = TRY(ScalarBody::Make(computation, options_, nesting_));
  return body.get();
}

Handler HandlerOf(Opcode opcode) { return kHandlers[static_cast<int>(opcode)]; }

// ---- Elementwise -------------------------------------------------------------------------------------------------

Result<Literal> EvalElementwise(Evaluation& e) {
  const Instruction& inst = e.inst;
  const Shape& shape = inst.shape();
  if (inst.Is(Opcode::kCopy) && (!shape.IsArray() || shape.type() == e.operands[0].shape().type()))
    return std::move(e.operands[0]);
  const ElementwiseOp op = TRY(ElementwiseOp::Make(inst));
  // The result may overwrite an operand without further users.
  Literal result;
  std::array<const std::byte*, ElementwiseOp::kMaxOperands> in = {};
  bool reused = false;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    Literal& operand = e.operands[i];
    in[i] = operand.raw();
    if (reused || !operand.OwnsBytes() || operand.shape().type() != shape.type() || !SameDims(operand.shape(), shape))
      continue;
    result = std::move(operand);
    reused = true;
  }
  if (!reused) result = Literal::Uninitialized(shape);
  op.RunAll(in.data(), result.mutable_raw(), shape.NumElements());
  return result;
}

Result<Literal> EvalMap(Evaluation& e) {
  const ScalarBody& body = *TRY(e.session.Body(*e.inst.attrs<MapAttrs>().to_apply));
  Literal result = Literal::Uninitialized(e.inst.shape());
  ScalarBody::Scratch scratch;
  const int64_t count = result.shape().NumElements();
  std::vector<std::vector<std::byte>> repeated(e.operands.size());
  for (size_t i = 0; i < repeated.size(); ++i) {
    const Literal& operand = e.operands[i];
    if (!operand.shape().IsScalar() || result.shape().IsScalar()) continue;
    for (int64_t k = 0; k < std::min(ScalarBody::kLanes, count); ++k)
      repeated[i].insert(repeated[i].end(), operand.raw(), operand.raw() + ByteWidth(operand.shape().type()));
  }
  for (int64_t begin = 0; begin < count; begin += ScalarBody::kLanes) {
    std::vector<const std::byte*> in;
    for (size_t i = 0; i < repeated.size(); ++i) {
      const Literal& operand = e.operands[i];
      in.push_back(repeated[i].empty() ? operand.raw() + begin * ByteWidth(operand.shape().type())
                                       : repeated[i].data());
    }
    std::byte* out = result.mutable_raw() + begin * ByteWidth(result.shape().type());
    TRY(body.Run(in.data(), &out, std::min(ScalarBody::kLanes, count - begin), scratch));
  }
  return result;
}

// ---- Ops that pass values on -------------------------------------------------------------------------------------

Result<Literal> EvalConstant(Evaluation& e) { return e.inst.literal(); }

Result<Literal> EvalElidedConstant(Evaluation& e) {
  FAIL(ErrorAt(e.inst, "P040",
               Str("the elements of constant '", e.inst.name(), "' were elided when the text was printed"))
           .Hint("--fill_elided_constants=random makes them up"));
}

Result<Literal> EvalTuple(Evaluation& e) {
  std::vector<Literal> elements;
  for (Literal& operand : e.operands) elements.push_back(std::move(operand));
  return Literal::Tuple(std::move(elements));
}

Result<Literal> EvalGetTupleElement(Evaluation& e) { return e.operands[0].elements()[e.inst.tuple_index()]; }

Result<Literal> EvalOptimizationBarrier(Evaluation& e) { return std::move(e.operands[0]); }
Result<Literal> EvalDomain(Evaluation& e) { return std::move(e.operands[0]); }
Result<Literal> EvalAddDependency(Evaluation& e) { return std::move(e.operands[0]); }
Result<Literal> EvalAfterAll(Evaluation&) { return Literal(Shape::Token()); }

// The result is (destination, source, context).
Result<Literal> EvalCopyStart(Evaluation& e) {
  return Literal::Tuple({e.operands[0], e.operands[0], Literal(e.inst.shape().element(2))});
}
Result<Literal> EvalCopyDone(Evaluation& e) { return e.operands[0].elements()[0]; }
// For updates that bind no operands. interpreter.cpp executes the others.
Result<Literal> EvalAsyncUpdate(Evaluation& e) { return std::move(e.operands[0]); }
Result<Literal> EvalAsyncDone(Evaluation& e) { return e.operands[0].elements()[1]; }

// ---- Several devices -----------------------------------------------------------------------------------------------

namespace {

Result<Literal> NumberOf(Evaluation& e, int64_t DevicePlace::* number) {
  const ModuleHeader& header = e.inst.module().header;
  if (e.session.place()) return Literal::Scalar(PrimitiveType::kU32, *e.session.place().*number);
  if (header.replica_count == 1 && header.num_partitions == 1) return Literal::Scalar(PrimitiveType::kU32, int64_t{0});
  FAIL(UnsupportedAt(e.inst, "U002",
                     Str("'", e.inst.opcode(), "' cannot run on one device alone, without the others of ",
                         header.replica_count, " replicas and ", header.num_partitions, " partitions")));
}

}  // namespace

Result<Literal> EvalReplicaId(Evaluation& e) { return NumberOf(e, &DevicePlace::replica); }
Result<Literal> EvalPartitionId(Evaluation& e) { return NumberOf(e, &DevicePlace::partition); }

// The starts of these collectives did all the work.
Result<Literal> EvalAllReduceDone(Evaluation& e) { return std::move(e.operands[0]); }
Result<Literal> EvalAllGatherDone(Evaluation& e) { return e.operands[0].elements()[1]; }
Result<Literal> EvalCollectivePermuteDone(Evaluation& e) { return e.operands[0].elements()[1]; }
Result<Literal> EvalSendDone(Evaluation&) { return Literal(Shape::Token()); }

}  // namespace hlo
