#include "gpu/libraries/onednn_parts.h"

#include <algorithm>

#include "base/parallel.h"
#include "gpu/device/device.h"
#include "gpu/libraries/onednn_call.h"

namespace hlo::gpu::onednn {
namespace {

class ProductInParts : public LibraryCall {
 public:
  ProductInParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements)
      : parts_(std::move(parts)), relu_elements_(relu_elements) {
    for (const auto& part : parts_) {
      offsets_.push_back(scratch_bytes_);
      scratch_bytes_ += AlignedBytes(part->ScratchBytes());
    }
  }

  std::string how() const override { return parts_[0]->how(); }
  std::string algorithm() const override { return parts_[0]->algorithm(); }
  std::vector<std::string> algorithms() const override { return parts_[0]->algorithms(); }
  int64_t ScratchBytes() const override { return scratch_bytes_; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override {
    std::vector<std::unique_ptr<BoundCall>> bound;
    for (const auto& part : parts_) bound.push_back(TRY(part->Bind(device)));
    return std::make_unique<Bound>(*this, std::move(bound));
  }

 private:
  class Bound : public BoundCall {
   public:
    Bound(const ProductInParts& call, std::vector<std::unique_ptr<BoundCall>> parts)
        : call_(call), parts_(std::move(parts)) {}

    Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch,
               void* /*packed*/) override {
      std::vector<Status> outcomes(parts_.size());
      ParallelFor(std::ssize(parts_), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          void* const own = static_cast<std::byte*>(scratch) + call_.offsets_[i];
          outcomes[i] = parts_[i]->Run(operands, results, own, nullptr);
        }
      });
      for (Status& outcome : outcomes) TRY(std::move(outcome));
      Relu(results[0], call_.relu_elements_);
      return {};
    }

   private:
    const ProductInParts& call_;
    std::vector<std::unique_ptr<BoundCall>> parts_;
  };

  std::vector<std::unique_ptr<LibraryCall>> parts_;
  int64_t relu_elements_;
  std::vector<int64_t> offsets_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace

std::vector<ProductPart> ProductPartsOf(const MatrixProduct& product) {
  // Smaller parts take hardly longer than their start. Larger products are not faster in parts
  // (bench/results/products.md#parts-of-a-product).
  constexpr double kLeastFlop = 1e6, kMostFlop = 1e9;
  const ProductPart whole = {{0, product.batch}, {0, product.m}, {0, product.n}};
  const double flop = Flop(product);
  const auto most = static_cast<int64_t>(std::min<double>(Threads(), flop / kLeastFlop));
  if (most < 2 || flop > kMostFlop) return {whole};
  const auto cut = [&](Range ProductPart::* axis, int64_t multiple) {
    const int64_t size = (whole.*axis).count;
    const int64_t step = ((size + most - 1) / most + multiple - 1) / multiple * multiple;
    std::vector<ProductPart> parts;
    for (int64_t begin = 0; begin < size; begin += step) {
      parts.push_back(whole);
      parts.back().*axis = {begin, std::min(step, size - begin)};
    }
    return parts;
  };
  if (product.batch > 1) return cut(&ProductPart::batch, 1);
  return product.m == 1 ? cut(&ProductPart::columns, 16) : cut(&ProductPart::rows, 8);
}

std::unique_ptr<LibraryCall> InParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements) {
  return std::make_unique<ProductInParts>(std::move(parts), relu_elements);
}

}  // namespace hlo::gpu::onednn
