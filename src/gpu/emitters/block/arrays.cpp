#include "gpu/emitters/block/state.h"

#include "base/text.h"
#include "gpu/emitters/scalar.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

// The region's result that is this element of the loop's state, if exactly one is.
std::optional<size_t> RootOf(const BlockState& block, const Instruction& root, int64_t element) {
  const Instruction& loop = *block.space.recurrent->loop;
  if (&root == &loop) return static_cast<size_t>(element);
  std::optional<size_t> found;
  const auto is_element = [&](const Instruction& value) {
    return value.Is(Opcode::kGetTupleElement) && &value.operand(0) == &loop && value.tuple_index() == element;
  };
  if (is_element(root)) return 0;
  for (int64_t i = 0; root.Is(Opcode::kTuple) && i < root.operand_count(); ++i) {
    if (!is_element(WithoutNames(root.operand(i)))) continue;
    if (found) return std::nullopt;
    found = static_cast<size_t>(i);
  }
  return found;
}

}  // namespace

void TakeLeaf(BlockState& block, const FusionBody::Leaf& leaf, Known& known) {
  const int64_t elements = leaf.shape->NumElements();
  if (elements == 0 || block.filled_from.contains(leaf.operand)) return;
  const Array array = block.k.Input(Str("in", block.kernel.buffers.size()), KernelTypeOf(leaf.shape->type()), elements);
  block.kernel.buffers.push_back({.kind = KernelBuffer::Kind::kOperand,
                                  .operand = leaf.operand,
                                  .index = leaf.index,
                                  .bytes = leaf.shape->ByteSize()});
  const Instruction& parameter = *FusedComputation(block.region).parameters()[leaf.operand];
  Home& home = known.at(&parameter)[leaf.index.empty() ? 0 : leaf.index[0]];
  if (elements == 1) home = array.Load(int64_t{0});
  else home = array;
}

void StoreResults(BlockState& block, const Homes& homes) {
  for (size_t i = 0; i < homes.size(); ++i) {
    const FusionBody::Root& root = block.request.body.roots()[i];
    if (root.shape->NumElements() == 0 || block.filled_roots.contains(i)) continue;
    const Array out = block.k.Output(Str("out", i), KernelTypeOf(root.shape->type()), root.shape->NumElements());
    block.kernel.buffers.push_back(
        {.kind = KernelBuffer::Kind::kOutput, .index = root.index, .bytes = root.shape->ByteSize()});
    if (!block.columns || root.shape->NumElements() % block.space.recurrent->period == 0) Copy(block, homes[i], out);
    else block.k.If(block.columns->rank() == 0, [&] { Copy(block, homes[i], out); });
  }
}

void FindFilled(BlockState& block) {
  const RecurrentLoop& recurrent = *block.space.recurrent;
  const Computation& computation = FusedComputation(block.region);
  for (size_t i = 0; i < recurrent.state.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    const Instruction& init = recurrent.loop->operand(0);
    if (recurrent.state[i] != RecurrentLoop::Element::kFilled || !init.Is(Opcode::kTuple)) continue;
    const Instruction& from = init.operand(element);
    const auto root = RootOf(block, computation.root(), element);
    if (!root || !from.Is(Opcode::kParameter) || from.UseCount() != 1) continue;
    block.filled.emplace(element, Filled{from.parameter_number(), *root});
    block.filled_from.insert(from.parameter_number());
    block.filled_roots.insert(*root);
  }
}

Array MakeArray(BlockState& block, const Shape& shape, bool is_shared) {
  const Type type = KernelTypeOf(shape.type());
  const int64_t elements = shape.NumElements(), bytes = (elements * kernel::Bytes(type) + 15) / 16 * 16;
  if (is_shared) return block.k.Shared("state", type, elements);
  if (block.shared_bytes + bytes <= block.most_shared_bytes) {
    block.shared_bytes += bytes;
    return block.k.Shared("value", type, elements);
  }
  block.kernel.buffers.push_back(
      {.kind = KernelBuffer::Kind::kScratch, .bytes = elements * kernel::Bytes(type), .scratch = block.scratches});
  return block.k.InOut(Str("scratch", block.scratches++), type, elements);
}

Array MakeFilled(BlockState& block, const Filled& filled) {
  const FusionBody::Root& root = block.request.body.roots()[filled.root];
  block.kernel.buffers.push_back({.kind = KernelBuffer::Kind::kOutput,
                                  .index = root.index,
                                  .bytes = root.shape->ByteSize(),
                                  .in_place_operand = filled.operand});
  return block.k.InOut(Str("out", filled.root), KernelTypeOf(root.shape->type()), root.shape->NumElements());
}

Home HomeOf(BlockState& block, const Literal& literal) {
  const int64_t elements = literal.shape().NumElements();
  if (elements == 0) return {};
  if (elements == 1) return LiteralValue(block.k, literal, 0)[0];
  return LiteralArray(block.k, Str("constant", block.kernel.buffers.size()), literal, block.kernel.buffers);
}

Value ValueOf(const Home& home) {
  if (const auto* variable = std::get_if<Variable>(&home)) return variable->Get();
  return std::get<Value>(home);
}

void Copy(BlockState& block, const Home& from, const Array& to) {
  if (const auto* array = std::get_if<Array>(&from)) {
    if (block.columns && to.elements() % block.space.recurrent->period == 0) {
      return block.columns->ForEach(to.elements() / block.k.cluster(),
                                    WidthFor(block, to.elements() / block.k.cluster()), [&](Value i) {
                                      const Value place = block.columns->At(i);
                                      to.Store(place, array->Load(place));
                                    });
    }
    const int width = WidthFor(block, to.elements());
    return ForChunks(block, to.elements(), width, [&](Value begin) {
      TileOver(block.k, width, to.elements(), begin, block.threads * width,
               [&](Value i) { to.Store(begin + i, array->Load(begin + i)); });
    });
  }
  to.Store(0, ValueOf(from));
}

void ForChunks(BlockState& block, int64_t size, int width, const std::function<void(Value)>& f) {
  if (size <= block.threads * width) return f(block.k.Index(0));
  block.k.Loop(0, size, block.threads * width, f);
}

int WidthFor(const BlockState& block, int64_t size) {
  return size > block.threads ? static_cast<int>(block.request.plan.vector) : 1;
}

}  // namespace hlo::gpu
