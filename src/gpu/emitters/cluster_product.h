// Distributes a recurrent loop over the blocks of a cluster (ir/analysis/recurrent_loop.h).
#ifndef HLO_GPU_EMITTERS_CLUSTER_PRODUCT_H_
#define HLO_GPU_EMITTERS_CLUSTER_PRODUCT_H_

#include <cstdint>

#include "gpu/emitters/names.h"
#include "ir/analysis/recurrent_loop.h"

namespace hlo::gpu {

// The columns that this block computes. Open, ForEach and Gather are called at block level. Values of rank and At may
// also be used at lower levels.
class ClusterColumns {
 public:
  ClusterColumns(KernelBuilder& k, int64_t period) : k_(k), period_(period), own_(period / k.cluster()) {}

  void Open() { rank_ = k_.cluster_rank(); }
  int64_t blocks() const { return k_.cluster(); }
  Value rank() const { return rank_; }
  // Position of this block's element `i` in the whole array.
  Value At(Value i) const { return i / own_ * period_ + rank_ * own_ + i % own_; }
  // Copies all of `from` to `to`. Each element comes from the block that computes it.
  void Gather(const Array& from, const Array& to, int width) const;
  // Calls f for this thread's elements of [0, size), `width` adjacent ones at a time.
  void ForEach(int64_t size, int width, const KernelBuilder::IndexBody& f) const;

 private:
  KernelBuilder& k_;
  const int64_t period_, own_;
  Value rank_;
};

// left [rows, terms] times this block's columns of the weights, with sums in f32.
class ClusterProduct {
 public:
  // `terms`: terms of the product without padding.
  ClusterProduct(KernelBuilder& k, const ClusterColumns& columns, const RecurrentLoop::Product& product, int64_t terms);

  int64_t SumElements() const { return split_.sums * product_.rows * own_columns_; }
  // The most additions that a term passes through.
  int64_t Chain() const { return terms_ / split_.sums + split_.sums; }
  // Must be called once, before Multiply.
  void LoadWeights(const Array& weights, int width);
  void Multiply(const Array& left, const Array& sums) const;
  // Element `i` of this block's part of the product. Called at thread level.
  Value Sum(const Array& sums, Value i) const;

 private:
  void MultiplyItem(const Array& left, const Array& sums, Value item) const;

  KernelBuilder& k_;
  const ClusterColumns& columns_;
  const RecurrentLoop::Product& product_;
  const int64_t own_columns_, terms_;
  ProductSplit split_;
  Array weights_;  // [terms][own columns]
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_CLUSTER_PRODUCT_H_
