#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/movement.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "judge/reach/argument_solver.h"

namespace hlo {
namespace {

std::vector<int64_t> IndexOf(int64_t element, std::span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = element % dims[d];
    element /= dims[d];
  }
  return index;
}

int64_t ElementAt(std::span<const int64_t> index, std::span<const int64_t> dims) {
  int64_t element = 0;
  for (size_t d = 0; d < dims.size(); ++d) element = element * dims[d] + index[d];
  return element;
}

}  // namespace

// The number of the operand, and its element, that a data movement copies to `element`.
std::optional<std::pair<int64_t, int64_t>> ArgumentSolver::MovedFrom(const Instruction& inst, int64_t element) const {
  if (!inst.shape().IsArray() || inst.operand_count() == 0) return {};
  const Shape &to = inst.shape(), &from = inst.operand(0).shape();
  const auto in_first = [&](std::span<const int64_t> index) {
    return std::pair(int64_t{0}, ElementAt(index, from.dims()));
  };
  std::vector<int64_t> index = IndexOf(element, to.dims());
  if (const auto sources = ElementSources::Of(inst)) {
    const auto [operand, source] = sources->At(index);
    return std::pair(operand, source);
  }
  switch (inst.opcode()) {
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: {
      if (!HasScalarIndices(inst)) return {};
      const bool is_slice = inst.Is(Opcode::kDynamicSlice);
      const Shape& piece = is_slice ? to : inst.operand(1).shape();
      bool inside = true;
      std::vector<int64_t> of_piece = index;
      for (int64_t d = 0; d < from.rank(); ++d) {
        const Literal* start = Find(inst.operand((is_slice ? 1 : 2) + d), {});
        if (start == nullptr) return {};
        const int64_t first = std::clamp<int64_t>(IndexAt(*start, 0), 0, from.dim(d) - piece.dim(d));
        if (is_slice) index[d] += first;
        else of_piece[d] -= first;
        inside = inside && of_piece[d] >= 0 && of_piece[d] < piece.dim(d);
      }
      if (is_slice || !inside) return in_first(index);
      return std::pair(int64_t{1}, ElementAt(of_piece, piece.dims()));
    }
    case Opcode::kGather: {
      const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
      const Instruction& indices = inst.operand(1);
      const Literal* starts = Find(indices, {});
      if (starts == nullptr || !attrs.operand_batching_dims.empty()) return {};
      std::vector<int64_t> row, source(from.rank());
      size_t next = 0;
      for (int64_t d = 0; d < to.rank(); ++d) {
        if (std::ranges::find(attrs.offset_dims, d) == attrs.offset_dims.end()) row.push_back(index[d]);
      }
      for (int64_t d = 0; d < from.rank(); ++d) {
        if (std::ranges::find(attrs.collapsed_slice_dims, d) == attrs.collapsed_slice_dims.end())
          source[d] = index[attrs.offset_dims[next++]];
      }
      for (size_t part = 0; part < attrs.start_index_map.size(); ++part) {
        std::vector<int64_t> at = row;
        if (attrs.index_vector_dim < indices.shape().rank())
          at.insert(at.begin() + attrs.index_vector_dim, static_cast<int64_t>(part));
        const int64_t d = attrs.start_index_map[part];
        source[d] += std::clamp<int64_t>(IndexAt(*starts, ElementAt(at, indices.shape().dims())), 0,
                                         from.dim(d) - attrs.slice_sizes[d]);
      }
      return in_first(source);
    }
    default: return {};
  }
}

bool ArgumentSolver::Reduced(const Instruction& inst, int64_t element, Wanted wanted) {
  constexpr size_t kMostElements = 4096;
  const auto opcode = ReducerOp(*CalledComputations(inst)[0]);
  const auto now = At(inst, element);
  if (!opcode || !now || inst.operand_count() != 2) return false;
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  const std::vector<int64_t> index = IndexOf(element, to.dims());
  std::vector<std::pair<int64_t, int64_t>> terms;
  if (inst.Is(Opcode::kReduce)) {
    const auto& reduced = inst.attrs<ReduceAttrs>().dimensions;
    std::vector<int64_t> sizes, at(from.rank());
    for (const int64_t dim : reduced) sizes.push_back(from.dim(dim));
    size_t next = 0;
    for (int64_t d = 0; d < from.rank(); ++d) {
      if (std::ranges::find(reduced, d) == reduced.end()) at[d] = index[next++];
    }
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    for (int64_t i = 0; i < count && terms.size() < kMostElements; ++i) {
      const std::vector<int64_t> inner = IndexOf(i, sizes);
      for (size_t d = 0; d < reduced.size(); ++d) at[reduced[d]] = inner[d];
      terms.emplace_back(0, ElementAt(at, from.dims()));
    }
  } else {
    const auto& dims = inst.attrs<ReduceWindowAttrs>().window.dims;
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (const WindowDim& dim : dims) sizes.push_back(dim.size), count *= dim.size;
    for (int64_t i = 0; i < count && terms.size() < kMostElements; ++i) {
      std::vector<int64_t> at = IndexOf(i, sizes);
      bool inside = true;
      for (size_t d = 0; d < dims.size(); ++d) {
        at[d] = index[d] * dims[d].stride + at[d] * dims[d].window_dilation - dims[d].pad_low;
        inside = inside && at[d] >= 0 && at[d] % dims[d].base_dilation == 0 &&
                 at[d] / dims[d].base_dilation < from.dim(static_cast<int64_t>(d));
        at[d] /= dims[d].base_dilation;
      }
      if (inside) terms.emplace_back(0, ElementAt(at, from.dims()));
    }
  }
  if (terms.empty()) return false;
  // Each element of the result tries another term first.
  std::ranges::rotate(terms, terms.begin() + element * 7 % std::ssize(terms));
  const bool is_pred = to.type() == PrimitiveType::kPred;
  if (!is_pred && *opcode == Opcode::kAdd) return Sum(inst, terms, *now, wanted);
  if (*opcode == Opcode::kMaximum || *opcode == Opcode::kMinimum ||
      (is_pred && (*opcode == Opcode::kAnd || *opcode == Opcode::kOr)))
    return Largest(inst, terms, wanted);
  return false;
}

bool ArgumentSolver::Product(const Instruction& inst, int64_t element, Wanted wanted) {
  constexpr int64_t kMostPairs = 4096;
  const DotAttrs& attrs = inst.attrs<DotAttrs>();
  const auto now = At(inst, element);
  if (!now || inst.operand_count() != 2 || !std::isfinite(*now)) return false;
  const std::vector<int64_t> index = IndexOf(element, inst.shape().dims());
  const Shape* shapes[] = {&inst.operand(0).shape(), &inst.operand(1).shape()};
  const std::vector<int64_t>* batch[] = {&attrs.lhs_batch, &attrs.rhs_batch};
  const std::vector<int64_t>* summed[] = {&attrs.lhs_contracting, &attrs.rhs_contracting};
  std::vector<int64_t> at[2] = {std::vector<int64_t>(shapes[0]->rank()), std::vector<int64_t>(shapes[1]->rank())};
  size_t next = batch[0]->size();
  for (const int side : {0, 1}) {
    for (size_t i = 0; i < batch[side]->size(); ++i) at[side][(*batch[side])[i]] = index[i];
    for (int64_t d = 0; d < shapes[side]->rank(); ++d) {
      if (std::ranges::find(*batch[side], d) == batch[side]->end() &&
          std::ranges::find(*summed[side], d) == summed[side]->end())
        at[side][d] = index[next++];
    }
  }
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (const int64_t dim : attrs.lhs_contracting) sizes.push_back(shapes[0]->dim(dim)), count *= sizes.back();
  struct Pair {
    double other;
    int64_t element;
  };
  for (const int side : {0, 1}) {
    if (!MayChange(inst.operand(side), {})) continue;
    std::vector<Pair> pairs;
    for (int64_t k = 0; k < std::min(count, kMostPairs); ++k) {
      const std::vector<int64_t> inner = IndexOf(k, sizes);
      for (const int of : {0, 1}) {
        for (size_t d = 0; d < inner.size(); ++d) at[of][(*summed[of])[d]] = inner[d];
      }
      const auto other = At(inst.operand(1 - side), ElementAt(at[1 - side], shapes[1 - side]->dims()));
      if (!other) return false;
      if (*other != 0 && std::isfinite(*other)) pairs.push_back({*other, ElementAt(at[side], shapes[side]->dims())});
    }
    std::ranges::stable_sort(pairs,
                             [](const Pair& a, const Pair& b) { return std::fabs(a.other) > std::fabs(b.other); });
    for (size_t i = 0; i < std::min(pairs.size(), kMostTerms); ++i) {
      const auto value = At(inst.operand(side), pairs[i].element);
      if (!value) return false;
      const Wanted term = wanted.nan ? wanted : Shifted(Scaled(Shifted(wanted, -*now), 1 / pairs[i].other), *value);
      if (Follow(inst.operand(side), {}, pairs[i].element, term)) return true;
    }
  }
  return false;
}

// Assumes that a loop's result changes by as much as its initial state.
bool ArgumentSolver::Loop(const Instruction& inst, const Path& path, int64_t element, Wanted wanted) {
  const auto now = At(inst, element, path), before = At(inst.operand(0), element, path);
  if (!now || !before) return false;
  const double by = *before - *now;
  return Follow(inst.operand(0), path, element, wanted.nan || by != by ? wanted : Shifted(wanted, by));
}

bool ArgumentSolver::Taken(const Instruction& inst, const Path& path, int64_t element, Wanted wanted) {
  const int64_t operand = inst.Is(Opcode::kSort) && !path.empty() ? path[0] : 0;
  if (inst.Is(Opcode::kTopK) && path != Path{0}) return false;
  const Instruction& from = inst.operand(operand);
  const auto now = At(inst, element, path);
  const Literal* values = Find(from, {});
  if (!now || values == nullptr || IsComplex(values->shape().type())) return false;
  const int64_t dim = inst.Is(Opcode::kSort) ? inst.attrs<SortAttrs>().dimension.value : from.shape().rank() - 1;
  std::vector<int64_t> index = IndexOf(element, SubShape(inst.shape(), path).dims());
  for (index[dim] = 0; index[dim] < from.shape().dim(dim); ++index[dim]) {
    const int64_t at = ElementAt(index, from.shape().dims());
    if (values->GetDouble(at) == *now) return Follow(from, {}, at, wanted);
  }
  return false;
}

}  // namespace hlo
