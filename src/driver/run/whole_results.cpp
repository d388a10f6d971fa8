#include "driver/run/whole_results.h"

#include <algorithm>

#include "base/text.h"
#include "interp/devices/parts.h"
#include "ir/mesh/parts.h"

namespace hlo {
namespace {

std::string OutputName(const ShapeIndex& index) {
  return index.empty() ? "the output" : Str("output {", Join(index, ","), "}");
}

class Joiner {
 public:
  Joiner(int64_t partitions, const ResultShardings& shardings, std::span<const Literal> by_device,
         const WholeSizes& sizes)
      : partitions_(partitions), parts_(by_device.first(partitions_)), shardings_(shardings), sizes_(sizes) {}

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
    const std::optional<StatedSharding>& stated = shardings_[leaf_++];
    if (!shape.IsArray()) return parts_[0].At(index_);
    if (!stated)
      return Refuse(
          "the result has no sharding (--result_shardings=FILE wants a module "
          "that states it at its root, such as XLA's *before_spmd-partitioning.txt)");
    const auto table = PartTable::Make(stated->sharding, shape.rank(), partitions_);
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
    joined_.why_not = Str("the parts of ", OutputName(index_), " are not joined to a whole array, since ", why);
    return std::nullopt;
  }

  int64_t partitions_;
  std::span<const Literal> parts_;
  const ResultShardings& shardings_;
  const WholeSizes& sizes_;
  JoinedResults joined_;
  ShapeIndex index_;
  int64_t leaf_ = 0;
};

}  // namespace

ResultShardings ShardingsOfResult(const Module& module) {
  const Instruction& root = module.entry().root();
  const auto none = [](const auto& stated) { return !stated.has_value(); };
  ResultShardings shardings = StatedShardings(root);
  if (!root.Is(Opcode::kTuple) || !std::ranges::all_of(shardings, none)) return shardings;
  shardings.clear();
  for (const Instruction* operand : root.operands())
    std::ranges::move(StatedShardings(*operand), std::back_inserter(shardings));
  return shardings;
}

JoinedResults JoinResults(const Module& module, const ResultShardings& shardings, std::span<const Literal> by_device,
                          const WholeSizes& sizes) {
  return Joiner(module.header.num_partitions, shardings, by_device, sizes).Join();
}

}  // namespace hlo
