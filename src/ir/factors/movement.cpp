#include <numeric>

#include "ir/factors/rule_builder.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {
namespace {

// Dimensions of one side of a reshape, without the common factors.
struct Side {
  int64_t operand;
  std::vector<int64_t> rest;
  size_t begin = 0, end = 0;  // The group of dimensions at hand.

  // The group's next dimension from the major or minor end, or null.
  const int64_t* Next(bool major) const {
    for (size_t i = begin; i < end; ++i) {
      const int64_t& size = rest[major ? i : end - 1 - (i - begin)];
      if (size != 1) return &size;
    }
    return nullptr;
  }
  Spot TakeOff(const int64_t* size, int64_t factor) {
    const int64_t dim = size - rest.data();
    rest[dim] /= factor;
    return {operand, dim};
  }
};

struct CommonFactor {
  int64_t size;
  Spot from, to;
};

// Takes all common divisors off the major or minor end of both groups.
std::vector<CommonFactor> TakeOffCommon(Side& from, Side& to, bool major) {
  std::vector<CommonFactor> taken;
  while (true) {
    const int64_t *x = from.Next(major), *y = to.Next(major);
    const int64_t common = x != nullptr && y != nullptr ? std::gcd(*x, *y) : 1;
    if (common == 1) return taken;
    taken.push_back({common, from.TakeOff(x, common), to.TakeOff(y, common)});
  }
}

// Extends both empty groups to the next place where the products meet.
void FindGroup(Side& from, Side& to) {
  int64_t x = 1, y = 1;
  do {
    const bool grow_from = to.end == to.rest.size() || (x <= y && from.end < from.rest.size());
    if (grow_from) x *= from.rest[from.end++];
    else y *= to.rest[to.end++];
  } while (x != y);
}

// The window of one operand of a concatenation.
WindowDim Shifted(int64_t start, int64_t size, int64_t whole) {
  return {.pad_low = start, .pad_high = whole - start - size};
}

}  // namespace

FactorRule FactorsOfBroadcast(const Instruction& inst) {
  RuleBuilder rule(inst);
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    std::vector<Spot> spots = {InResult(dim)};
    const auto from = std::ranges::find(inst.dimensions(), dim);
    if (from != inst.dimensions().end()) spots.push_back(InOperand(0, from - inst.dimensions().begin()));
    rule.AddFree(inst.shape().dim(dim), spots);
  }
  return rule.Finish();
}

FactorRule FactorsOfTranspose(const Instruction& inst) {
  RuleBuilder rule(inst);
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim)
    rule.AddFree(inst.shape().dim(dim), {InResult(dim), InOperand(0, inst.dimensions()[dim])});
  return rule.Finish();
}

// The common refinement of both lists of sizes. Groups of dimensions end where both products meet. Common divisors are
// taken off the major end, then off the minor end, and the rest is whole:
//
//   f32[6,4] => f32[24]     ([i,j])->([ij]) i=6 j=4
//   f32[6,4] => f32[4,6]    ([ij,kn])->([il,mn]): i=2 and n=2 are common, the others are whole
FactorRule FactorsOfReshape(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Dims &operand = inst.operand(0).shape().dims(), &result = inst.shape().dims();
  const auto is_empty = [](int64_t size) { return size < 1; };
  if (std::ranges::any_of(operand, is_empty) || std::ranges::any_of(result, is_empty)) return rule.Finish();
  Side from{0, operand}, to{Spot::kResult, result};
  while (from.end < from.rest.size() || to.end < to.rest.size()) {
    from.begin = from.end;
    to.begin = to.end;
    FindGroup(from, to);
    for (const CommonFactor& f : TakeOffCommon(from, to, true)) rule.AddFree(f.size, {f.from, f.to});
    const std::vector<CommonFactor> minor = TakeOffCommon(from, to, false);
    for (const Side* side : {&from, &to}) {
      for (size_t i = side->begin; i < side->end; ++i)
        rule.AddWhole(side->rest[i], {{side->operand, static_cast<int64_t>(i)}});
    }
    for (auto f = minor.rbegin(); f != minor.rend(); ++f) rule.AddFree(f->size, {f->from, f->to});
  }
  return rule.Finish();
}

FactorRule FactorsOfSlice(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& operand = inst.operand(0).shape();
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    const auto [start, limit, stride] = inst.attrs<SliceAttrs>().slice.dims[dim];
    const WindowDim window{.stride = stride, .pad_low = -start, .pad_high = limit - operand.dim(dim)};
    rule.AddWindows(inst.shape().dim(dim), {{0, dim, window}});
  }
  return rule.Finish();
}

FactorRule FactorsOfPad(const Instruction& inst) {
  RuleBuilder rule(inst);
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    const auto [low, high, interior] = inst.attrs<PadAttrs>().padding.dims[dim];
    const WindowDim window{.pad_low = low, .pad_high = high, .base_dilation = interior + 1};
    rule.AddWindows(inst.shape().dim(dim), {{0, dim, window}});
  }
  return rule.Finish();
}

FactorRule FactorsOfConcatenate(const Instruction& inst) {
  RuleBuilder rule(inst);
  const int64_t along = inst.attrs<OneDimensionAttrs>().dimension.value;
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    const int64_t whole = inst.shape().dim(dim);
    std::vector<Spot> spots = {InResult(dim)};
    std::vector<FactorWindow> windows;
    int64_t start = 0;
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const int64_t size = inst.operand(i).shape().dim(dim);
      spots.push_back(InOperand(i, dim));
      windows.push_back({i, dim, Shifted(start, size, whole)});
      start += size;
    }
    if (dim == along) rule.AddWindows(whole, std::move(windows));
    else rule.AddFree(whole, spots);
  }
  return rule.Finish();
}

FactorRule FactorsOfReverse(const Instruction& inst) {
  RuleBuilder rule(inst);
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    const int64_t size = inst.shape().dim(dim);
    const WindowDim mirror{.stride = -1, .pad_low = 1 - size};
    rule.AddWindows(size, {{0, dim, Contains(inst.dimensions(), dim) ? mirror : WindowDim()}});
  }
  return rule.Finish();
}

// A rotation concatenates two pieces of the operand: the elements from `start` on, and the elements before.
FactorRule FactorsOfShuffle(const Instruction& inst) {
  RuleBuilder rule(inst);
  const std::vector<int64_t> starts = ShuffleStarts(inst);
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    const int64_t size = inst.shape().dim(dim), start = starts[dim];
    std::vector<FactorWindow> windows = {{0, dim, {.pad_low = -start, .pad_high = start}}};
    if (start > 0) windows.push_back({0, dim, {.pad_low = size - start, .pad_high = start - size}});
    rule.AddWindows(size, std::move(windows));
  }
  return rule.Finish();
}

}  // namespace hlo
