#include "driver/run/whole_results.h"

#include "base/text.h"
#include "interp/devices/parts.h"
#include "ir/mesh/parts.h"

namespace hlo {
namespace {

std::vector<const Sharding*> ShardingsOfResult(const Instruction& root) {
  std::vector<const Sharding*> shardings;
  const auto add = [&](const Instruction& inst) {
    for (int64_t leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) shardings.push_back(ShardingOfLeaf(inst, leaf));
  };
  const bool by_operand = root.Is(Opcode::kTuple) && ShardingOfLeaf(root, 0) == nullptr;
  if (!by_operand) add(root);
  for (const Instruction* operand : root.operands()) {
    if (by_operand) add(*operand);
  }
  return shardings;
}

std::string OutputName(const ShapeIndex& index) {
  return index.empty() ? "the output" : Str("output {", Join(index, ","), "}");
}

class Joiner {
 public:
  Joiner(const Module& module, std::span<const Literal> by_device, const WholeSizes& sizes)
      : partitions_(module.header.num_partitions),
        parts_(by_device.first(partitions_)),
        shardings_(ShardingsOfResult(module.entry().root())),
        sizes_(sizes) {}

  JoinedResults Join() {
    joined_.whole = JoinAt(parts_[0].shape());
    return std::move(joined_);
  }

 private:
  std::optional<Literal> JoinAt(const Shape& shape) {
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        index_.push_back(static_cast<int64_t>(i));
        auto element = JoinAt(shape.element(i));
        index_.pop_back();
        if (!element) return std::nullopt;
        elements.push_back(std::move(*element));
      }
      return Literal::Tuple(std::move(elements));
    }
    const Sharding* sharding = shardings_[leaf_++];
    if (!shape.IsArray()) return parts_[0].At(index_);
    if (sharding == nullptr) return Refuse("it has no sharding");
    const auto table = PartTable::Make(*sharding, shape.rank(), partitions_);
    if (!table) return Refuse(table.error().message());
    std::vector<const Literal*> values;
    for (const Literal& part : parts_) values.push_back(&part.At(index_));
    Shape whole = table->LargestWhole(shape);
    if (const auto known = sizes_(index_); known && table->Fits(*known, shape.dims())) {
      for (int64_t d = 0; d < whole.rank(); ++d) whole.SetDim(d, (*known)[d]);
    }
    JoinedParts joined = JoinParts(values, whole, *table);
    if (joined.differing)
      joined_.notes.push_back(Str("partitions ", joined.differing->first, " and ", joined.differing->second,
                                  " hold the same part of ", OutputName(index_), ", with different values"));
    return std::move(joined.whole);
  }

  std::optional<Literal> Refuse(std::string_view why) {
    joined_.why_not = Str("the results are those of partition 0: the parts of ", OutputName(index_),
                          " are not joined to a whole array, since ", why);
    return std::nullopt;
  }

  int64_t partitions_;
  std::span<const Literal> parts_;
  std::vector<const Sharding*> shardings_;
  const WholeSizes& sizes_;
  JoinedResults joined_;
  ShapeIndex index_;
  int64_t leaf_ = 0;
};

}  // namespace

JoinedResults JoinResults(const Module& module, std::span<const Literal> by_device, const WholeSizes& sizes) {
  return Joiner(module, by_device, sizes).Join();
}

}  // namespace hlo
