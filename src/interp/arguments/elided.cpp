#include "base/text.h"
#include "interp/arguments/leaf_maker.h"
#include "ir/module.h"

namespace hlo {
namespace {

int64_t UnknownBytes(const Literal& literal) {
  if (literal.IsKnown()) return 0;
  if (literal.elements().empty()) return literal.shape().ByteSize();
  int64_t bytes = 0;
  for (const Literal& element : literal.elements()) bytes += UnknownBytes(element);
  return bytes;
}

// `leaf` is the number of the literal's next leaf.
Literal Filled(const Literal& literal, std::span<const LeafRange> ranges, const ArgumentOptions& options,
               int64_t number, int64_t& leaf) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements())
      elements.push_back(Filled(element, ranges, options, number, leaf));
    return Literal::Tuple(std::move(elements));
  }
  const LeafRange range = ranges.empty() ? LeafRange() : ranges[leaf];
  ++leaf;
  if (literal.IsKnown()) return literal;
  return MakeLeaf(literal.shape(), range, options, number, leaf - 1);
}

Literal* LiteralIn(Instruction& inst) {
  if (inst.Is(Opcode::kElidedConstant)) return &inst.mutable_attrs<ConstantAttrs>().literal;
  if (!inst.Is(Opcode::kCustomCall)) return nullptr;
  std::optional<Literal>& literal = inst.mutable_attrs<CustomCallAttrs>().literal.value;
  return literal && !literal->IsKnown() ? &*literal : nullptr;
}

}  // namespace

Result<int64_t> FillElidedConstants(Module& module, const ElidedFill& fill) {
  std::vector<Instruction*> elided;
  double bytes = 0;
  const Instruction* largest = nullptr;
  int64_t largest_bytes = -1;
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const Literal* const literal = LiteralIn(*inst);
      if (literal == nullptr) continue;
      elided.push_back(inst);
      const int64_t its_bytes = UnknownBytes(*literal);
      bytes += static_cast<double>(its_bytes);
      if (its_bytes > largest_bytes) largest = inst, largest_bytes = its_bytes;
    }
  }
  if (elided.empty()) return 0;
  if (bytes > static_cast<double>(fill.memory_limit)) {
    Error error =
        ErrorAt(*largest, "P093",
                Str("the values of ", elided.size(), elided.size() == 1 ? " elided constant" : " elided constants",
                    " would take ", HumanBytes(bytes), ", but the limit is ",
                    HumanBytes(static_cast<double>(fill.memory_limit)), " (--memory_limit); the largest is '",
                    largest->name(), "'"),
                ExitCode::kLimit);
    error.diagnostics.front().flag = "memory_limit";
    return std::unexpected(std::move(error));
  }
  const Ranges ranges = CollectRanges(module);
  ArgumentOptions options;
  options.seed = fill.seed;
  options.profile = fill.profile;
  options.constrain = fill.profile == InputProfile::kNormal;
  int64_t number = static_cast<int64_t>(module.entry().parameters().size());
  for (Instruction* inst : elided) {
    int64_t leaf = 0;
    Literal& literal = *LiteralIn(*inst);
    Literal filled = Filled(literal, ranges.elided[inst->id()], options, number++, leaf);
    if (inst->Is(Opcode::kElidedConstant)) inst->SetLiteral(std::move(filled));
    else literal = std::move(filled);
  }
  return static_cast<int64_t>(elided.size());
}

}  // namespace hlo
