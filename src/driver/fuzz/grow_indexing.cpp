#include "driver/fuzz/grower.h"

#include "ir/dimensions.h"

namespace hlo {
namespace {

using enum PrimitiveType;

PrimitiveType IndexType(Grower& g) { return g.chance.OneOf({kS32, kS32, kS32, kS64, kU32, kU8}); }

Instruction& Index(Grower& g, PrimitiveType type, int64_t most) {
  if (g.chance.Percent(50)) return g.Any(type, {});
  return g.Scalar(type, static_cast<double>(g.chance.Between(0, std::min<int64_t>(100, most + 1))));
}

bool GrowDynamicSlice(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  const bool update = opcode == Opcode::kDynamicUpdateSlice;
  const PrimitiveType type = IndexType(g);
  Operands operands = {&x};
  std::vector<int64_t> sizes;
  for (const int64_t size : x.shape().dims())
    sizes.push_back(g.chance.Percent(40) ? size
                                         : std::min<int64_t>(size, g.chance.Between(1, std::max<int64_t>(1, size))));
  Interval is = g.IntervalOf(x);
  if (update) {
    operands.push_back(&g.Any(x.shape().type(), sizes));
    is = {std::min(is.low, g.IntervalOf(*operands[1]).low), std::max(is.high, g.IntervalOf(*operands[1]).high)};
  }
  for (int64_t i = 0; i < x.shape().rank(); ++i) operands.push_back(&Index(g, type, x.shape().dim(i) - sizes[i]));
  Instruction& inst = update ? g.Add(opcode, operands) : g.Add(opcode, operands, DynamicSliceAttrs{sizes});
  g.SetInterval(inst, is);
  g.Keep(inst);
  return true;
}

// Indexed dimensions of the operand, and the order of dimensions in the indices and the result.
struct Indexed {
  std::vector<int64_t> slice_sizes, dropped, operand_batch, indices_batch, index_map, window_dims;
  Dims indices, result;  // Sizes. For scatter, `result` is for the updates.
  int64_t index_vector_dim = 0;
};

Indexed AnyIndexed(Grower& g, const Shape& operand) {
  Indexed x;
  const int64_t rank = operand.rank();
  const bool batch = rank > 1 && g.chance.Percent(20);
  const int64_t batch_dim = batch ? g.chance.Below(rank) : -1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = operand.dim(i);
    if (i == batch_dim) {
      x.operand_batch.push_back(i);
      x.slice_sizes.push_back(std::min<int64_t>(1, size));
      continue;
    }
    const bool indexed = x.index_map.empty() || g.chance.Percent(40);
    if (indexed) x.index_map.push_back(i);
    const bool part = indexed && size > 0 && g.chance.Percent(75);
    x.slice_sizes.push_back(part ? g.chance.OneOf<int64_t>({1, 1, g.chance.Between(1, size)}) : size);
    if (x.slice_sizes.back() == 1 && g.chance.Percent(70)) x.dropped.push_back(i);
  }
  if (x.index_map.size() > 1 && g.chance.Percent(30)) std::swap(x.index_map.front(), x.index_map.back());

  int64_t window = 1;
  for (const int64_t size : x.slice_sizes) window *= std::max<int64_t>(1, size);
  int64_t left = std::max<int64_t>(1, g.max_elems() / window);
  std::vector<int64_t> sizes;
  for (int64_t i = g.chance.Between(0, 2); i > 0; --i) {
    sizes.push_back(std::max<int64_t>(1, std::min<int64_t>(g.AnySize(left), 64)));
    left /= sizes.back();
  }
  if (batch) {
    const int64_t at = g.chance.Between(0, std::ssize(sizes));
    sizes.insert(sizes.begin() + at, operand.dim(batch_dim));
    x.indices_batch.push_back(at);
  }
  const bool scalar_vector = x.index_map.size() == 1 && g.chance.Percent(40);
  x.index_vector_dim = scalar_vector ? std::ssize(sizes) : g.chance.Between(0, std::ssize(sizes));
  std::vector<int64_t> indices = sizes;
  if (!scalar_vector) {
    indices.insert(indices.begin() + x.index_vector_dim, std::ssize(x.index_map));
    for (int64_t& dim : x.indices_batch) dim += dim >= x.index_vector_dim;
  }
  x.indices = indices;

  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < rank; ++i) {
    const bool gone = std::find(x.dropped.begin(), x.dropped.end(), i) != x.dropped.end() || i == batch_dim;
    if (!gone) offsets.push_back(x.slice_sizes[i]);
  }
  const int64_t result_rank = std::ssize(sizes) + std::ssize(offsets);
  x.window_dims = g.chance.SortedSample(result_rank, std::ssize(offsets));
  std::vector<int64_t> result(result_rank, -1);
  for (size_t i = 0; i < offsets.size(); ++i) result[x.window_dims[i]] = offsets[i];
  size_t next = 0;
  for (int64_t& size : result) {
    if (size < 0) size = sizes[next++];
  }
  x.result = result;
  return x;
}

bool GrowGather(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  const Indexed of = AnyIndexed(g, x.shape());
  if (Product(of.result) > g.max_elems()) return false;
  Instruction& indices = g.Any(IndexType(g), of.indices);
  Instruction& inst = g.Add(opcode, {&x, &indices},
                            GatherAttrs{.offset_dims = of.window_dims,
                                        .collapsed_slice_dims = of.dropped,
                                        .start_index_map = of.index_map,
                                        .operand_batching_dims = of.operand_batch,
                                        .start_indices_batching_dims = of.indices_batch,
                                        .index_vector_dim = of.index_vector_dim,
                                        .slice_sizes = of.slice_sizes});
  g.SetInterval(inst, g.IntervalOf(x));
  g.Keep(inst);
  return true;
}

Computation& Overwrite(Grower& g, PrimitiveType type) {
  return g.InComputation("overwrite", [&] {
    g.Parameter(Shape::Scalar(type));
    g.computation().SetRoot(g.Parameter(Shape::Scalar(type)));
  });
}

bool GrowScatter(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf([](PrimitiveType type) { return !IsComplex(type); }, 1);
  const PrimitiveType type = x.shape().type();
  const Indexed of = AnyIndexed(g, x.shape());
  if (Product(of.result) > g.max_elems()) return false;
  ScatterAttrs attrs{.update_window_dims = of.window_dims,
                     .inserted_window_dims = of.dropped,
                     .scatter_dims_to_operand_dims = of.index_map,
                     .input_batching_dims = of.operand_batch,
                     .scatter_indices_batching_dims = of.indices_batch,
                     .index_vector_dim = of.index_vector_dim};
  Instruction* indices = &g.Any(IndexType(g), of.indices);
  Instruction* updates = &g.Any(type, of.result);
  const auto count = static_cast<double>(std::max<int64_t>(1, Product(of.result)));
  Interval a = g.IntervalOf(x);
  int64_t how = g.chance.Below(4);
  if (type == kPred) how = how == 0 ? 0 : 3;
  // The order of updates is not defined, so each destination is written at most once.
  if (how == 0) {
    if (std::ssize(of.index_map) != 1 || Product(of.result) == 0) return false;
    int64_t rows = 1;
    for (int64_t i = 0; i < std::ssize(of.indices); ++i) rows *= i == of.index_vector_dim ? 1 : of.indices[i];
    const int64_t step = of.slice_sizes[of.index_map[0]];
    int64_t longest = 0;
    for (int64_t i = 0; i < std::ssize(of.indices); ++i)
      if (of.indices[i] > of.indices[longest]) longest = i;
    const bool unique = of.indices.empty() || of.indices[longest] == Product(of.indices);
    if (!unique || rows * step > 100) return false;
    attrs.to_apply = &Overwrite(g, type);
    indices = &g.Splat(kS32, of.indices, 0);
    if (rows > 1) {
      indices = &g.AddShaped(Opcode::kIota, Shape(kS32, of.indices), {}, IotaAttrs{longest});
      indices = &g.Add(Opcode::kMultiply, {indices, &g.Splat(kS32, of.indices, static_cast<double>(step))});
    }
    attrs.unique_indices = g.chance.Percent(50);
    attrs.indices_are_sorted = g.chance.Percent(50);
    a = {std::min(a.low, g.IntervalOf(*updates).low), std::max(a.high, g.IntervalOf(*updates).high)};
  } else if (how == 1 && (type != kPred)) {
    attrs.to_apply = &g.ScalarBinary(Opcode::kAdd, type);
    updates = &g.Bounded(*updates, std::max(0.25, Grower::LimitOf(type) / count));
    const double size = a.size() + count * g.IntervalOf(*updates).size();
    a = {-size, size};
  } else {
    const Opcode most = type == kPred ? Opcode::kOr : Opcode::kMaximum;
    attrs.to_apply = &g.ScalarBinary(how == 2 && type != kPred ? Opcode::kMinimum : most, type);
    const double size = std::max(a.size(), g.IntervalOf(*updates).size());
    a = {-size, size};
  }
  Instruction& inst = g.Add(opcode, {&x, indices, updates}, attrs);
  g.SetInterval(inst, a);
  g.Keep(inst);
  return true;
}

}  // namespace

std::span<const GrowRow> IndexingRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kDynamicSlice, 4, true, GrowDynamicSlice},
      {Opcode::kDynamicUpdateSlice, 4, true, GrowDynamicSlice},
      {Opcode::kGather, 5, true, GrowGather},
      {Opcode::kScatter, 4, true, GrowScatter},
  };
  return kRows;
}

}  // namespace hlo
