#include "interp/devices/collectives.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"
#include "interp/devices/manual_regions.h"
#include "interp/ops/scalar_body.h"
#include "interp/strided.h"
#include "ir/device_groups.h"
#include "ir/module.h"

namespace hlo {
namespace {

Error RendezvousError(const Instruction& inst, std::string message) {
  return ErrorAt(inst, "R040", std::move(message), ExitCode::kNo);
}

std::vector<int64_t> Origin(const Literal& literal) { return std::vector<int64_t>(literal.shape().rank(), 0); }

}  // namespace

void CopyBox(const Literal& from, std::span<const int64_t> from_start, Literal& to, std::span<const int64_t> to_start,
             std::span<const int64_t> sizes) {
  if (Product(sizes) == 0) return;
  const int64_t bytes = ByteWidth(from.shape().type());
  const std::vector<int64_t> from_strides = RowMajorStrides(from.shape().dims());
  const std::vector<int64_t> to_strides = RowMajorStrides(to.shape().dims());
  CopyStrided(sizes, from.raw() + Dot(from_start, from_strides) * bytes, from_strides,
              to.mutable_raw() + Dot(to_start, to_strides) * bytes, to_strides, bytes);
}

namespace {

Literal Block(const Literal& whole, int64_t dimension, int64_t index, int64_t count) {
  Shape shape = whole.shape();
  shape.SetDim(dimension, shape.dim(dimension) / count);
  Literal block = Literal::Uninitialized(shape);
  std::vector<int64_t> start = Origin(whole);
  start[dimension] = index * shape.dim(dimension);
  CopyBox(whole, start, block, Origin(block), shape.dims());
  return block;
}

Literal Concatenated(std::span<const Literal> parts, int64_t dimension) {
  Shape shape = parts[0].shape();
  int64_t size = 0;
  for (const Literal& part : parts) size += part.shape().dim(dimension);
  shape.SetDim(dimension, size);
  Literal whole = Literal::Uninitialized(shape);
  std::vector<int64_t> at = Origin(whole);
  for (const Literal& part : parts) {
    CopyBox(part, Origin(part), whole, at, part.shape().dims());
    at[dimension] += part.shape().dim(dimension);
  }
  return whole;
}

Literal OneOrTuple(std::vector<Literal> values) {
  return values.size() == 1 ? std::move(values[0]) : Literal::Tuple(std::move(values));
}

int64_t SizeOf(const Gathering& g) { return static_cast<int64_t>(g.devices.size()); }
int64_t OperandsOf(const Gathering& g) { return static_cast<int64_t>(g.operands[0].size()); }

Result<int64_t> DimensionOf(const Gathering& g, int64_t i) {
  const auto& dimension = g.inst.attrs<CollectiveAttrs>().dimension;
  const Shape& shape = g.operands[0][i].shape();
  if (dimension && shape.IsArray() && dimension->value >= 0 && dimension->value < shape.rank()) return dimension->value;
  FAIL(ErrorAt(g.inst, "V218", Str("'", g.inst.opcode(), "' needs dimensions=, a dimension of its operand ", shape)));
}

Result<Literal> Folded(Gathering& g, int64_t i) {
  const Computation* to_apply = g.inst.attrs<CollectiveAttrs>().to_apply;
  const auto& perturb = g.session.options().perturb;
  std::vector<Literal> terms;
  for (size_t m = 0; perturb && m < g.operands.size(); ++m) terms.push_back(g.operands[m][i]);
  Literal sum = std::move(g.operands[0][i]);
  if (g.operands.size() == 1) return sum;
  if (to_apply == nullptr) FAIL(ErrorAt(g.inst, "P036", Str("'", g.inst.opcode(), "' needs the attribute 'to_apply'")));
  const ScalarBody& body = *TRY(g.session.Body(*to_apply));
  ScalarBody::Scratch scratch;
  const int64_t count = sum.shape().NumElements(), bytes = ByteWidth(sum.shape().type());
  for (size_t m = 1; m < g.operands.size(); ++m) {
    const Literal& next = g.operands[m][i];
    TRY(CheckBody(g.inst, body, 1, {&sum, 1}, {&next, 1}));
    std::byte* const into = sum.mutable_raw();
    for (int64_t begin = 0; begin < count; begin += ScalarBody::kLanes) {
      const std::byte* in[] = {into + begin * bytes, next.raw() + begin * bytes};
      std::byte* out = into + begin * bytes;
      TRY(body.Run(in, &out, std::min(ScalarBody::kLanes, count - begin), scratch));
    }
  }
  if (perturb) TRY(perturb(g.inst, terms, sum));
  return sum;
}

Result<std::vector<Literal>> AllReduced(Gathering& g) {
  std::vector<Literal> sums;
  for (int64_t i = 0; i < OperandsOf(g); ++i) sums.push_back(TRY(Folded(g, i)));
  return std::vector<Literal>(g.devices.size(), OneOrTuple(std::move(sums)));
}

// ---- Roots ---------------------------------------------------------------------------------------------------------

bool HasDynamicRoot(const Instruction& inst) { return inst.attrs<CollectiveAttrs>().has_dynamic_root.value_or(false); }

int64_t DataOperandsOf(const Gathering& g) { return OperandsOf(g) - (HasDynamicRoot(g.inst) ? 1 : 0); }

// Position of the root in the group: 0, or the last operand, which must be equal on all members. Source:
// openxla/stablehlo pull requests 2981 and 2990.
Result<int64_t> RootOf(const Gathering& g, int64_t i) {
  if (!HasDynamicRoot(g.inst)) return 0;
  const Shape& roots = g.operands[0].back().shape();
  if (!roots.IsArray() || !IsInteger(roots.type()) || roots.NumElements() != DataOperandsOf(g))
    FAIL(ErrorAt(g.inst, "V308", Str("roots are ", roots, ", expected s32[", DataOperandsOf(g), "]")));
  const int64_t root = g.operands[0].back().GetInt(i);
  for (const std::vector<Literal>& operands : g.operands) {
    if (operands.back().GetInt(i) == root) continue;
    FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "': devices have different roots for operand ", i, ": ", root,
                                     " and ", operands.back().GetInt(i))));
  }
  if (root < 0 || root >= SizeOf(g)) {
    FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "': root ", root, " for operand ", i, " is not one of the ",
                                     SizeOf(g), " ", g.grid.noun(), SizeOf(g) == 1 ? "" : "s", " of its group")));
  }
  return root;
}

// With a dynamic root, one value may be written as a tuple.
Literal ResultOf(const Instruction& inst, std::vector<Literal> values) {
  return inst.shape().IsTuple() ? Literal::Tuple(std::move(values)) : OneOrTuple(std::move(values));
}

// Only the root receives the sum. Other values, which StableHLO leaves undefined, are zeros, as in a
// collective-permute.
Result<std::vector<Literal>> CollectiveReduced(Gathering& g) {
  std::vector<std::vector<Literal>> values(g.devices.size());
  for (int64_t i = 0; i < DataOperandsOf(g); ++i) {
    const int64_t root = TRY(RootOf(g, i));
    Literal sum = TRY(Folded(g, i));
    for (int64_t m = 0; m < SizeOf(g); ++m) {
      if (m != root) values[m].emplace_back(sum.shape());
    }
    values[root].push_back(std::move(sum));
  }
  std::vector<Literal> results;
  for (std::vector<Literal>& value : values) results.push_back(ResultOf(g.inst, std::move(value)));
  return results;
}

Result<std::vector<Literal>> Broadcast(Gathering& g) {
  std::vector<Literal> values;
  for (int64_t i = 0; i < DataOperandsOf(g); ++i) values.push_back(g.operands[TRY(RootOf(g, i))][i]);
  return std::vector<Literal>(g.devices.size(), ResultOf(g.inst, std::move(values)));
}

// ---- Parts ---------------------------------------------------------------------------------------------------------

Result<std::vector<Literal>> ReduceScattered(Gathering& g) {
  std::vector<std::vector<Literal>> parts(g.devices.size());
  for (int64_t i = 0; i < OperandsOf(g); ++i) {
    const int64_t d = TRY(DimensionOf(g, i));
    const Literal sum = TRY(Folded(g, i));
    if (sum.shape().dim(d) % SizeOf(g) != 0) {
      FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "' cannot divide dimension ", d, " of ", sum.shape(),
                                       " among ", SizeOf(g), " devices")));
    }
    for (int64_t m = 0; m < SizeOf(g); ++m) parts[m].push_back(Block(sum, d, m, SizeOf(g)));
  }
  std::vector<Literal> results;
  for (std::vector<Literal>& part : parts) results.push_back(OneOrTuple(std::move(part)));
  return results;
}

Result<std::vector<Literal>> AllGathered(Gathering& g) {
  std::vector<Literal> gathered;
  for (int64_t i = 0; i < OperandsOf(g); ++i) {
    const int64_t d = TRY(DimensionOf(g, i));
    std::vector<Literal> parts;
    for (const std::vector<Literal>& operands : g.operands) parts.push_back(operands[i]);
    gathered.push_back(Concatenated(parts, d));
  }
  const Literal all = OneOrTuple(std::move(gathered));
  if (!g.inst.Is(Opcode::kAllGatherStart)) return std::vector<Literal>(g.devices.size(), all);
  std::vector<Literal> results;
  for (std::vector<Literal>& operands : g.operands)
    results.push_back(Literal::Tuple({OneOrTuple(std::move(operands)), all}));
  return results;
}

Result<std::vector<Literal>> AllToAll(Gathering& g) {
  std::vector<Literal> results;
  if (g.inst.attrs<CollectiveAttrs>().dimension) {
    const int64_t d = TRY(DimensionOf(g, 0));
    const Shape& shape = g.operands[0][0].shape();
    if (shape.dim(d) % SizeOf(g) != 0) {
      FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "' cannot divide dimension ", d, " of ", shape, " among ",
                                       SizeOf(g), " devices")));
    }
    for (int64_t to = 0; to < SizeOf(g); ++to) {
      std::vector<Literal> blocks;
      for (const std::vector<Literal>& operands : g.operands) blocks.push_back(Block(operands[0], d, to, SizeOf(g)));
      results.push_back(Concatenated(blocks, d));
    }
    return results;
  }
  if (OperandsOf(g) != SizeOf(g)) {
    FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "' has ", OperandsOf(g),
                                     " operands, expected one for each of ", SizeOf(g), " devices")));
  }
  for (int64_t to = 0; to < SizeOf(g); ++to) {
    std::vector<Literal> parts;
    for (const std::vector<Literal>& operands : g.operands) parts.push_back(operands[to]);
    results.push_back(g.inst.shape().IsTuple() ? Literal::Tuple(std::move(parts)) : std::move(parts[0]));
  }
  return results;
}

// (input, output, input offsets, send sizes, output offsets, receive sizes). Updates for one peer are adjacent.
Result<std::vector<Literal>> RaggedAllToAll(Gathering& g) {
  const int64_t updates = g.operands[0][2].shape().NumElements() / SizeOf(g);
  if (updates * SizeOf(g) != g.operands[0][2].shape().NumElements()) {
    FAIL(RendezvousError(g.inst, Str("'", g.inst.name(), "' has offsets ", g.operands[0][2].shape(),
                                     ", which cannot be divided among ", SizeOf(g), " devices")));
  }
  const auto fail = [&](const std::string& message) {
    return ErrorAt(g.inst, "R041", Str("'", g.inst.name(), "': ", message), ExitCode::kNo);
  };
  std::vector<Literal> results;
  for (int64_t to = 0; to < SizeOf(g); ++to) {
    Literal output = g.operands[to][1];
    if (output.shape().rank() < 1 || output.shape().rank() != g.operands[to][0].shape().rank())
      FAIL(UnsupportedAt(g.inst, "U002",
                         Str("'ragged-all-to-all' from ", g.operands[to][0].shape(), " into ", output.shape(),
                             " is not supported by the interpreter")));
    for (int64_t from = 0; from < SizeOf(g); ++from) {
      const std::vector<Literal>& sender = g.operands[from];
      const Literal& input = sender[0];
      for (int64_t u = 0; u < updates; ++u) {
        const int64_t out = to * updates + u, in = from * updates + u;
        const int64_t first = sender[2].GetInt(out), rows = sender[3].GetInt(out), place = sender[4].GetInt(out);
        const int64_t expected = g.operands[to][5].GetInt(in);
        const std::string pair = Str(g.grid.Name(g.devices.subspan(from, 1)), " sends ", rows,
                                     rows == 1 ? " row to " : " rows to ", g.grid.Name(g.devices.subspan(to, 1)));
        if (rows != expected) FAIL(fail(Str(pair, ", which expects ", expected)));
        const auto inside = [&](int64_t start, int64_t size) {
          return rows >= 0 && start >= 0 && rows <= size && start <= size - rows;
        };
        if (!inside(first, input.shape().dim(0)))
          FAIL(fail(Str(pair, ", from row ", first, " on, which are not all inside of ", input.shape())));
        if (!inside(place, output.shape().dim(0)))
          FAIL(fail(Str(pair, ", into row ", place, " and later, which are not all inside of ", output.shape())));
        std::vector<int64_t> sizes = input.shape().dims(), from_start = Origin(input), to_start = Origin(output);
        sizes[0] = rows;
        from_start[0] = first;
        to_start[0] = place;
        CopyBox(input, from_start, output, to_start, sizes);
      }
    }
    results.push_back(std::move(output));
  }
  return results;
}

// ---- collective-permute --------------------------------------------------------------------------------------------

bool IsStart(const Instruction& inst) { return inst.Is(Opcode::kCollectivePermuteStart); }

Literal WithContext(const Instruction& inst, std::span<const Literal> operands, Literal result) {
  if (!IsStart(inst)) return result;
  std::vector<Literal> elements;
  for (const Shape& element : inst.shape().elements()) elements.emplace_back(element);
  elements[0] = OneOrTuple({operands.begin(), operands.end()});
  elements[1] = std::move(result);
  return Literal::Tuple(std::move(elements));
}

// `starts` is a tuple of scalars, or a tuple of such tuples.
void AppendStarts(const Literal& starts, std::vector<std::vector<int64_t>>& out) {
  const bool several = !starts.elements().empty() && starts.elements()[0].shape().IsTuple();
  if (several) {
    for (const Literal& part : starts.elements()) AppendStarts(part, out);
    return;
  }
  std::vector<int64_t>& start = out.emplace_back();
  for (const Literal& index : starts.elements()) start.push_back(index.GetInt(0));
}

// Starts are clamped as in dynamic-slice. `next` is an index into slice_sizes.
Status CopySlices(const Instruction& inst, const Literal& input, Literal& output, const Literal& input_starts,
                  const Literal& output_starts, size_t& next) {
  if (input.shape().IsTuple()) {
    for (size_t i = 0; i < input.elements().size(); ++i) {
      TRY(CopySlices(inst, input.elements()[i], output.mutable_elements()[i], input_starts.elements()[i],
                     output_starts.elements()[i], next));
    }
    return {};
  }
  const ListOfLists& all_sizes = *inst.attrs<PermuteAttrs>().slice_sizes;
  std::vector<std::vector<int64_t>> from, to;
  AppendStarts(input_starts, from);
  AppendStarts(output_starts, to);
  for (size_t i = 0; i < from.size(); ++i, ++next) {
    const auto fits = [&](const Literal& buffer) {
      const auto& dims = buffer.shape().dims();
      bool inside = next < all_sizes.size() && all_sizes[next].size() == dims.size();
      for (size_t d = 0; inside && d < dims.size(); ++d)
        inside = all_sizes[next][d] >= 0 && all_sizes[next][d] <= dims[d];
      return inside;
    };
    if (from.size() != to.size() || !fits(input) || !fits(output) || input.shape().type() != output.shape().type()) {
      FAIL(UnsupportedAt(inst, "U002",
                         Str("'", inst.opcode(), "' whose slice_sizes do not fit its offsets, ", input.shape(), " and ",
                             output.shape(), " is not supported by the interpreter")));
    }
    for (size_t d = 0; d < from[i].size(); ++d) {
      const int64_t size = all_sizes[next][d];
      from[i][d] = std::clamp<int64_t>(from[i][d], 0, input.shape().dim(d) - size);
      to[i][d] = std::clamp<int64_t>(to[i][d], 0, output.shape().dim(d) - size);
    }
    CopyBox(input, from[i], output, to[i], all_sizes[next]);
  }
  return {};
}

Result<std::vector<Literal>> Permuted(Gathering& g) {
  const PermuteAttrs& attrs = g.inst.attrs<PermuteAttrs>();
  std::unordered_map<int64_t, int64_t> places;
  for (int64_t i = 0; i < SizeOf(g); ++i)
    places[attrs.channel_id ? g.devices[i] % g.grid.partitions : g.devices[i] / g.grid.partitions] = i;
  std::vector<int64_t> source_of(g.devices.size(), -1);
  std::vector<bool> sends(g.devices.size(), false);
  for (const std::vector<int64_t>& pair : attrs.source_target_pairs) {
    if (!places.contains(pair[1])) continue;
    const int64_t from = places.at(pair[0]), to = places.at(pair[1]);
    if (source_of[to] >= 0 || sends[from]) {
      FAIL(UnsupportedAt(g.inst, "U002",
                         Str("'", g.inst.opcode(),
                             "' with a source or target that occurs twice is not supported by the interpreter")));
    }
    sends[from] = true;
    source_of[to] = from;
  }
  std::vector<Literal> results;
  for (int64_t to = 0; to < SizeOf(g); ++to) {
    const std::vector<Literal>& own = g.operands[to];
    if (source_of[to] < 0) {
      results.push_back(AloneAt(g.inst, own));
      continue;
    }
    const std::vector<Literal>& sent = g.operands[source_of[to]];
    if (!attrs.slice_sizes) {
      results.push_back(WithContext(g.inst, own, OneOrTuple(sent)));
      continue;
    }
    if (own.size() != 4) FAIL(ErrorAt(g.inst, "V226", Str("slice_sizes needs 4 operands, found ", own.size())));
    Literal output = own[1];
    size_t next = 0;
    TRY(CopySlices(g.inst, sent[0], output, sent[2], own[3], next));
    results.push_back(WithContext(g.inst, own, std::move(output)));
  }
  return results;
}

using Exchange = Result<std::vector<Literal>> (*)(Gathering& g);
constexpr std::pair<Opcode, Exchange> kExchanges[] = {
    {Opcode::kAllGather, AllGathered},
    {Opcode::kAllGatherStart, AllGathered},
    {Opcode::kAllReduce, AllReduced},
    {Opcode::kAllReduceStart, AllReduced},
    {Opcode::kAllToAll, AllToAll},
    {Opcode::kCollectiveBroadcast, Broadcast},
    {Opcode::kCollectivePermute, Permuted},
    {Opcode::kCollectivePermuteStart, Permuted},
    {Opcode::kCollectiveReduce, CollectiveReduced},
    {Opcode::kCustomCall, EndManualRegion},
    {Opcode::kRaggedAllToAll, RaggedAllToAll},
    {Opcode::kReduceScatter, ReduceScattered},
};

Result<std::vector<Literal>> ExchangeByOpcode(Gathering& g) {
  const auto row = std::ranges::find(kExchanges, g.inst.opcode(), &std::pair<Opcode, Exchange>::first);
  CHECK(row != std::end(kExchanges), "no collective: ", g.inst.opcode());
  return row->second(g);
}

}  // namespace

Status CheckStart(const Instruction& inst) {
  if (IsStart(inst) && (!inst.shape().IsTuple() || inst.shape().elements().size() < 2))
    FAIL(UnsupportedAt(
        inst, "U002", Str("'", inst.opcode(), "' with result ", inst.shape(), " is not supported by the interpreter")));
  return {};
}

Result<std::vector<Literal>> Exchange(Gathering& gathering) {
  const Instruction& inst = gathering.inst;
  std::vector<Literal> results = TRY(ExchangeByOpcode(gathering));
  for (const Literal& result : results) {
    if (Compatible(result.shape(), inst.shape())) continue;
    FAIL(RendezvousError(
        inst, Str("'", inst.name(), "' gives ", result.shape(), " in a group of ", SizeOf(gathering), " ",
                  gathering.grid.noun(), SizeOf(gathering) == 1 ? "" : "s", ", but ", inst.shape(), " is written")));
  }
  return results;
}

Literal AloneAt(const Instruction& inst, std::span<const Literal> operands) {
  const auto* permute = inst.attributes().GetIf<PermuteAttrs>();
  if (permute != nullptr && permute->slice_sizes) return WithContext(inst, operands, operands[1]);
  if (IsStart(inst)) return WithContext(inst, operands, Literal(inst.shape().element(1)));
  return Literal(inst.shape());
}

}  // namespace hlo
