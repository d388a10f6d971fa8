#include "gpu/emitters/cluster_product.h"

#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

namespace {
constexpr int64_t kLanes = 32;
constexpr int kTermsAtOnce = 4;  // A vector of at most 16 bytes.
}  // namespace

void ClusterColumns::ForEach(int64_t size, int width, const KernelBuilder::IndexBody& f) const {
  const int64_t step = static_cast<int64_t>(k_.threads()) * width;
  const auto chunk = [&](Value begin) { TileOver(k_, width, size, begin, step, [&](Value i) { f(begin + i); }); };
  if (size <= step) return chunk(k_.Index(0));
  k_.Loop(0, size, step, chunk);
}

void ClusterColumns::Gather(const Array& from, const Array& to, int width) const {
  ForEach(to.elements(), width, [&](Value i) { to.Store(i, from.LoadFrom(i % period_ / own_, i)); });
}

ClusterProduct::ClusterProduct(KernelBuilder& k, const ClusterColumns& columns, const RecurrentLoop::Product& product,
                               int64_t terms)
    : k_(k),
      columns_(columns),
      product_(product),
      own_columns_(product.columns / columns.blocks()),
      terms_(terms),
      split_(SplitOf(product, static_cast<int>(columns.blocks()), k.warps())) {
  if (terms_ != product.terms) split_.sums = 1;
  weights_ = k_.Shared("weights", KernelTypeOf(product.weights_shape->type()), product.terms * own_columns_);
}

void ClusterProduct::LoadWeights(const Array& weights, int width) {
  const int64_t elements = product_.terms * own_columns_;
  if (!product_.weights_by_column) {
    return columns_.ForEach(elements, width, [&](Value i) { weights_.Store(i, weights.Load(columns_.At(i))); });
  }
  // In memory, the weights are [column][term].
  columns_.ForEach(elements, 1, [&](Value i) {
    const Value column = i / product_.terms, term = i % product_.terms;
    weights_.Store(term * own_columns_ + column, weights.Load(columns_.At(column) * product_.terms + term));
  });
}

// A warp computes 32 columns and some rows, for some terms. Each weight that a lane loads serves all these rows.
void ClusterProduct::Multiply(const Array& left, const Array& sums) const {
  const int64_t items = CeilDiv(own_columns_, kLanes) * (product_.rows / split_.rows) * split_.sums;
  k_.Warps([&] {
    if (items == k_.warps()) return MultiplyItem(left, sums, k_.warp());
    k_.Loop(k_.warp(), k_.Index(items), k_.Index(k_.warps()), [&](Value item) { MultiplyItem(left, sums, item); });
  });
}

void ClusterProduct::MultiplyItem(const Array& left, const Array& sums, Value item) const {
  const int64_t groups = CeilDiv(own_columns_, kLanes), row_groups = product_.rows / split_.rows;
  const int64_t terms = terms_ / split_.sums;
  const int at_once = terms % kTermsAtOnce == 0 && product_.terms % kTermsAtOnce == 0 ? kTermsAtOnce : 1;
  const Value column0 = item % groups * kLanes, row0 = item / groups % row_groups * split_.rows;
  const Value part = item / (groups * row_groups), term0 = part * terms;
  k_.Tile(1, k_.Index(own_columns_) - column0, [&](Value lane) {
    std::vector<Variable> running;
    for (int64_t row = 0; row < split_.rows; ++row) running.push_back(k_.MakeVariable(k_.Constant(Type::kF32, 0.0)));
    k_.Loop(
        int64_t{0}, terms, at_once,
        [&](Value first) {
          const Value term = term0 + first;
          std::vector<Value> weights;
          for (int t = 0; t < at_once; ++t)
            weights.push_back(Convert(weights_.Load((term + t) * own_columns_ + column0 + lane), Type::kF32));
          for (int64_t row = 0; row < split_.rows; ++row) {
            Value sum = running[row].Get();
            const auto factors = left.LoadVector((row0 + row) * product_.terms + term, at_once);
            for (int t = 0; t < at_once; ++t) sum = Fma(Convert(factors[t], Type::kF32), weights[t], sum);
            running[row].Set(sum);
          }
        },
        2);
    for (int64_t row = 0; row < split_.rows; ++row)
      sums.Store((part * product_.rows + row0 + row) * own_columns_ + column0 + lane, running[row].Get());
  });
}

Value ClusterProduct::Sum(const Array& sums, Value i) const {
  Value sum = sums.Load(i);
  for (int64_t part = 1; part < split_.sums; ++part) sum = sum + sums.Load(part * product_.rows * own_columns_ + i);
  return sum;
}

}  // namespace hlo::gpu
