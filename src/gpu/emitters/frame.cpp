#include "gpu/emitters/frame.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

constexpr int64_t kTableElements = 64;

// Bounds the intermediate values of e. Sums are added in any order, so terms' magnitudes are added.
double Magnitude(const IndexPool& pool, IndexExpr e, std::map<IndexExpr, double>& known) {
  if (const auto found = known.find(e); found != known.end()) return found->second;
  const IndexPool::Node& node = pool[e];
  double magnitude = std::max(std::abs(static_cast<double>(node.low)), std::abs(static_cast<double>(node.high)));
  if (node.operand.id >= 0) magnitude = std::max(magnitude, Magnitude(pool, node.operand, known));
  if (node.kind == IndexPool::Kind::kSum) {
    magnitude = std::abs(static_cast<double>(node.constant));
    for (const auto& term : node.terms)
      magnitude += std::abs(static_cast<double>(term.coefficient)) * Magnitude(pool, term.atom, known);
  }
  return known[e] = magnitude;
}

std::vector<int64_t> TableOf(const Literal& literal) {
  std::vector<int64_t> bits;
  const int64_t parts = literal.shape().NumElements() * ComponentCount(literal.shape().type());
  for (int64_t i = 0; i < parts; ++i) bits.push_back(LiteralBits(literal, i));
  return bits;
}

}  // namespace

std::string KernelName(const Instruction& source, std::string_view suffix) {
  std::string name(source.name());
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return Str(name, suffix);
}

Array LiteralArray(KernelBuilder& k, const std::string& name, const Literal& literal,
                   std::vector<KernelBuffer>& buffers) {
  const Type type = KernelTypeOf(literal.shape().type());
  const int64_t elements = literal.shape().NumElements();
  if (elements <= kTableElements) return k.Table(name, type, TableOf(literal));
  buffers.push_back({.kind = KernelBuffer::Kind::kLiteral, .bytes = literal.byte_size(), .literal = literal});
  return k.Input(name, type, elements * ComponentCount(literal.shape().type()));
}

std::map<const Instruction*, Array> LiteralArrays(const ElementGraph& graph, std::span<const NodeId> needed,
                                                  KernelBuilder& k, std::vector<KernelBuffer>& buffers) {
  std::map<const Instruction*, Array> literals;
  for (const NodeId id : needed) {
    const ElementNode& node = graph.node(id);
    if (node.kind != Kind::kLiteral || graph.pool().IsConstant(node.offset) || literals.contains(node.inst)) continue;
    literals[node.inst] = LiteralArray(k, Str("constant", literals.size()), node.inst->literal(), buffers);
  }
  return literals;
}

void CountIndices(const ElementGraph& graph, std::span<const NodeId> needed, KernelBuilder& k) {
  std::map<IndexExpr, double> magnitudes;
  for (const NodeId id : needed) {
    const int parts = ComponentCount(graph.node(id).inst->shape());
    for (const IndexExpr e : graph.Expressions(id))
      k.CountsTo(static_cast<int64_t>(std::min(parts * Magnitude(graph.pool(), e, magnitudes), 0x1p62)));
  }
}

void AddPromises(const ElementGraph& graph, std::span<const NodeId> needed, PrecisionPlan& precision) {
  // Kernels use fma only in dots, convolutions and functions.
  precision.contract = false;
  for (const NodeId id : needed) {
    const ElementNode& node = graph.node(id);
    if (!node.inst->shape().IsArray() || !IsFloat(node.inst->shape().type())) continue;
    InstructionPlan& promise = precision.instructions[node.inst->id()];
    promise.hold = node.inst->shape().type();
    if (node.kind != Kind::kReduce) continue;
    int64_t terms = static_cast<int64_t>(node.steps.size());
    for (const int64_t size : node.loop_sizes) terms *= size;
    const Type accumulator = AccumulatorType(*node.inst, KernelTypeOf(node.inst->shape().type()));
    const bool widened = accumulator != KernelTypeOf(node.inst->shape().type());
    promise.sum =
        SumPlan{.accumulator = widened ? PrimitiveType::kF32 : node.inst->shape().type(), .longest_chain = terms};
  }
}

KernelFrame::KernelFrame(ElementGraph& graph, std::span<const NodeId> needed, LaunchShape launch,
                         const EmitRequest& request)
    : graph_(graph),
      k_(KernelName(graph.body().source(), request.suffix), std::max<int64_t>(launch.blocks, 1), launch.threads),
      needed_(graph.Reachable(needed)) {
  CountIndices(graph, needed_, k_);
  std::set<int> used;
  for (const NodeId id : needed_) {
    if (graph.node(id).kind == Kind::kLoad) used.insert(graph.node(id).leaf);
  }
  for (const int leaf : used) {
    const FusionBody::Leaf& from = graph.body().leaves()[leaf];
    leaves_[leaf] = k_.Input(Str("in", leaf), KernelTypeOf(from.shape->type()),
                             from.shape->NumElements() * ComponentCount(from.shape->type()));
    buffers_.push_back({.kind = KernelBuffer::Kind::kOperand,
                        .operand = from.operand,
                        .index = from.index,
                        .bytes = from.shape->ByteSize()});
  }
  std::map<const Instruction*, Array> literals = LiteralArrays(graph, needed_, k_, buffers_);
  k_.SetSource(std::string(graph.body().source().name()));
  emission_ = std::make_unique<Emission>(graph, k_, leaves_, std::move(literals));
}

Array KernelFrame::OutputAs(const FusionBody::Root& root, bool read, int in_place_leaf) {
  const Type type = KernelTypeOf(root.shape->type());
  const std::string name = Str("out", outputs_.size());
  const int64_t values = root.shape->NumElements() * ComponentCount(root.shape->type());
  const Array array = read ? k_.InOut(name, type, values) : k_.Output(name, type, values);
  KernelBuffer buffer{.kind = KernelBuffer::Kind::kOutput, .index = root.index, .bytes = root.shape->ByteSize()};
  if (in_place_leaf >= 0) {
    buffer.in_place_operand = graph_.body().leaves()[in_place_leaf].operand;
    buffer.in_place_index = graph_.body().leaves()[in_place_leaf].index;
  }
  buffers_.push_back(std::move(buffer));
  outputs_[&root] = array;
  return array;
}

Array KernelFrame::Output(const FusionBody::Root& root) { return OutputAs(root, false, -1); }
Array KernelFrame::WrittenOutput(const FusionBody::Root& root, int in_place_leaf) {
  return OutputAs(root, true, in_place_leaf);
}

Array KernelFrame::InPlaceOutput(const FusionBody::Root& root, int leaf) {
  const Array array = OutputAs(root, false, leaf);
  if (const auto input = leaves_.find(leaf); input != leaves_.end()) {
    k_.SetMayAlias(array);
    k_.SetMayAlias(input->second);
  }
  return array;
}

Array KernelFrame::Scratch(int id, Type type, int64_t elements, bool zeroed) {
  buffers_.push_back(
      {.kind = KernelBuffer::Kind::kScratch, .bytes = elements * kernel::Bytes(type), .scratch = id, .zeroed = zeroed});
  return k_.InOut(Str("scratch", id), type, elements);
}

Array KernelFrame::Number(const std::string& name, int32_t number) {
  Literal literal(Shape(PrimitiveType::kS32, {1}));
  literal.SetInt(0, number);
  buffers_.push_back({.kind = KernelBuffer::Kind::kLiteral, .bytes = literal.byte_size(), .literal = literal});
  return k_.Input(name, Type::kS32, 1);
}

void KernelFrame::Share(int leaf, const FusionBody::Root& root) {
  const FusionBody::Leaf& from = graph_.body().leaves()[leaf];
  sharable_.push_back({from.operand, from.index, root.index});
  k_.SetMayAlias(leaves_.at(leaf));
  k_.SetMayAlias(outputs_.at(&root));
}

EmittedKernel KernelFrame::Finish(std::string_view emitter) && {
  EmittedKernel plan;
  AddPromises(graph_, needed_, plan.precision);
  plan.kernel = std::make_shared<const kernel::Kernel>(std::move(k_).Build());
  plan.emitter = emitter;
  plan.buffers = std::move(buffers_);
  plan.sharable = std::move(sharable_);
  plan.source = &graph_.body().source();
  return plan;
}

void BindAll(const IterationSpace& space, Emission& emission, Role role, Value linear) {
  std::vector<const IterationSpace::Variable*> bound;
  for (size_t i = 0; i + 1 < space.variables.size(); ++i) {
    if (space.variables[i].role == role) bound.push_back(&space.variables[i]);
  }
  for (size_t i = bound.size(); i-- > 0;) {
    emission.Bind(bound[i]->e, i == 0 ? linear : linear % bound[i]->size);
    if (i > 0) linear = linear / bound[i]->size;
  }
}

void TileOver(KernelBuilder& k, int width, int64_t size, Value begin, int64_t step,
              const KernelBuilder::IndexBody& body) {
  const bool narrow = step < 32;
  if (size % step == 0) return narrow ? k.Tile(width, k.Index(step), body) : k.Tile(width, body);
  const Value left = k.Index(size) - begin;
  k.Tile(width, narrow ? Min(left, k.Index(step)) : left, body);
}

}  // namespace hlo::gpu
