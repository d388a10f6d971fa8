// scan repeats a computation along one dimension, with carries.
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/strided.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Slice `i` along dimension `d`, without this dimension.
Literal SliceAt(const Literal& from, int64_t d, int64_t i) {
  std::vector<int64_t> dims = from.shape().dims(), strides = RowMajorStrides(dims);
  const int64_t base = strides[d] * i, bytes = ByteWidth(from.shape().type());
  dims.erase(dims.begin() + d);
  strides.erase(strides.begin() + d);
  Literal slice = Literal::Uninitialized(Shape(from.shape().type(), dims));
  if (slice.byte_size() > 0)
    CopyStrided(dims, from.raw() + base * bytes, strides, slice.mutable_raw(), RowMajorStrides(dims), bytes);
  return slice;
}

void SetSliceAt(Literal& to, int64_t d, int64_t i, const Literal& slice) {
  std::vector<int64_t> strides = RowMajorStrides(to.shape().dims());
  const int64_t base = strides[d] * i, bytes = ByteWidth(to.shape().type());
  strides.erase(strides.begin() + d);
  const auto& dims = slice.shape().dims();
  if (slice.byte_size() > 0)
    CopyStrided(dims, slice.raw(), RowMajorStrides(dims), to.mutable_raw() + base * bytes, strides, bytes);
}

}  // namespace

Result<Literal> EvalScan(Evaluation& e) {
  const ScanAttrs& attrs = e.inst.attrs<ScanAttrs>();
  const size_t carries = attrs.num_carries, arrays = e.operands.size() - carries;
  const int64_t d = attrs.dimension.value, steps = arrays == 0 ? 0 : e.operands[0].shape().dim(d);
  std::vector<Literal> carried(e.operands.begin() + arrays, e.operands.end());
  const bool tuple = e.inst.shape().IsTuple();
  const size_t results = tuple ? e.inst.shape().elements().size() : 1;
  std::vector<Literal> stacked;
  for (size_t i = 0; i + carries < results; ++i)
    stacked.emplace_back(tuple ? e.inst.shape().element(i) : e.inst.shape());

  for (int64_t step = 0; step < steps; ++step) {
    const int64_t at = attrs.is_reverse ? steps - 1 - step : step;
    std::vector<Literal> args;
    for (size_t i = 0; i < arrays; ++i) args.push_back(SliceAt(e.operands[i], d, at));
    args.insert(args.end(), carried.begin(), carried.end());
    const Literal value = TRY(EvaluateNested(*attrs.to_apply, args, e.session.options(), e.session.nesting() + 1));
    const auto result = [&](size_t i) -> const Literal& {
      return value.shape().IsTuple() ? value.elements()[i] : value;
    };
    for (size_t i = 0; i < stacked.size(); ++i) SetSliceAt(stacked[i], d, at, result(i));
    for (size_t i = 0; i < carries; ++i) carried[i] = result(stacked.size() + i);
  }
  stacked.insert(stacked.end(), carried.begin(), carried.end());
  return tuple ? Literal::Tuple(std::move(stacked)) : std::move(stacked[0]);
}

}  // namespace hlo
