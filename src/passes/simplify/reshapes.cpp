// Rules of algsimp for reshape, transpose, reverse, copy and bitcast.
#include <algorithm>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace hlo {

std::optional<std::vector<int64_t>> PairDimensions(const Shape& from, const Shape& to) {
  std::vector<int64_t> paired(to.rank(), -1);
  int64_t i = 0;
  for (int64_t j = 0; j < to.rank(); ++j) {
    while (i < from.rank() && from.dim(i) == 1 && to.dim(j) != 1) ++i;
    if (i < from.rank() && from.dim(i) == to.dim(j)) {
      paired[j] = i++;
    } else if (to.dim(j) != 1) {
      return std::nullopt;
    }
  }
  while (i < from.rank() && from.dim(i) == 1) ++i;
  if (i != from.rank()) return std::nullopt;
  return paired;
}

std::vector<int64_t> SamePlaces(const Shape& shape, const Shape& x) {
  std::vector<int64_t> places(shape.rank(), -1);
  int64_t d = 0, before = 1, before_x = 1, at = 0;
  for (; d < shape.rank(); ++d) {
    while (at < x.rank() && (before_x < before || (before_x == before && x.dim(at) == 1 && shape.dim(d) != 1)))
      before_x *= x.dim(at++);
    if (before_x == before && at < x.rank() && x.dim(at) == shape.dim(d)) {
      places[d] = at;
      before_x *= x.dim(at++);
    }
    before *= shape.dim(d);
  }
  return places;
}

namespace {
namespace m = match;

Result<Instruction*> ReshapeTwice(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Reshape(m::Reshape(m::Any(&x)))(&inst)) return nullptr;
  return Replace(inst, Opcode::kReshape, {x});
}

Result<Instruction*> ReshapeToSame(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Reshape(m::Any(&x))(&inst)) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

Result<Instruction*> BitcastTwice(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Bitcast(m::Any(&x))(&inst)) return nullptr;
  if (x->shape() == inst.shape()) return x;
  if (!x->Is(Opcode::kBitcast)) return nullptr;
  return Replace(inst, Opcode::kBitcast, {&x->operand(0)});
}

// Dimension i of the result is dimension outer[i] of the middle value and inner[outer[i]] of x.
Result<Instruction*> TransposeTwice(Instruction& inst, const PassContext&) {
  Instruction *inner, *x;
  if (!m::Transpose(m::Transpose(&inner, m::Any(&x)))(&inst)) return nullptr;
  std::vector<int64_t> composed;
  for (const int64_t d : inst.dimensions()) composed.push_back(inner->dimensions()[d]);
  return Replace(inst, Opcode::kTranspose, {x}, DimensionsAttrs{composed});
}

Result<Instruction*> TransposeOfNothing(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Transpose(m::Any(&x))(&inst) || x->shape() != inst.shape()) return nullptr;
  return std::is_sorted(inst.dimensions().begin(), inst.dimensions().end()) ? x : nullptr;
}

Result<Instruction*> TransposeOfOnes(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Transpose(m::Any(&x))(&inst)) return nullptr;
  int64_t last = -1;
  for (const int64_t d : inst.dimensions()) {
    if (x->shape().dim(d) == 1) continue;
    if (d < last) return nullptr;
    last = d;
  }
  return Replace(inst, Opcode::kReshape, {x});
}

// Two reverses become one, over the dimensions that exactly one of them reverses.
Result<Instruction*> ReverseOfNothing(Instruction& inst, const PassContext&) {
  Instruction *x, *inner;
  if (!m::Reverse(m::Any(&x))(&inst)) return nullptr;
  const auto& dims = inst.dimensions();
  if (std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return inst.shape().dim(d) == 1; })) return x;
  if (!m::Reverse(m::Reverse(&inner))(&inst)) return nullptr;
  std::vector<int64_t> odd;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const auto in = [d](const std::vector<int64_t>& list) {
      return std::find(list.begin(), list.end(), d) != list.end();
    };
    if (in(dims) != in(inner->dimensions())) odd.push_back(d);
  }
  if (odd.empty()) return &inner->operand(0);
  return Replace(inst, Opcode::kReverse, {&inner->operand(0)}, DimensionsAttrs{odd});
}

// The copy is not needed for a separate buffer: the buffer plan decides.
Result<Instruction*> CopyToSame(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Copy(m::Any(&x))(&inst)) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.resh.1a",  Opcode::kReshape,   ReshapeToSame,      Preserves::kExact, "reshape(x) => x, when the shape is the same"},
    {"A.resh.1b",  Opcode::kReshape,   ReshapeTwice,       Preserves::kExact, "reshape(reshape(x)) => reshape(x)"},
    {"A.bitc.1",   Opcode::kBitcast,   BitcastTwice,       Preserves::kExact, "bitcast(bitcast(x)) => bitcast(x); bitcast(x) => x, when the shape is the same"},
    {"A.trans.1a", Opcode::kTranspose, TransposeOfNothing, Preserves::kExact, "transpose(x) => x, when nothing moves"},
    {"A.trans.1b", Opcode::kTranspose, TransposeTwice,     Preserves::kExact, "transpose(transpose(x)) => transpose(x)"},
    {"A.trans.3",  Opcode::kTranspose, TransposeOfOnes,    Preserves::kExact, "transpose(x) => reshape(x), when only dimensions of size 1 move"},
    {"A.rev.1",    Opcode::kReverse,   ReverseOfNothing,   Preserves::kExact, "reverse(x) => x, of dimensions of size 1; reverse(reverse(x)) => reverse(x)"},
    {"A.copy.1a",  Opcode::kCopy,      CopyToSame,         Preserves::kExact, "copy(x) => x, when the layout is the same"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReshapeRules() { return kRules; }

}  // namespace hlo
