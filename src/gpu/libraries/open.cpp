#include "gpu/libraries/open.h"

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/onednn.h"
#include "gpu/libraries/small_product.h"

namespace hlo::gpu {
namespace {

// Measured with oneDNN 2.6 on one AVX-512 core: at 196 rows, 1024 to 256 channels, 1.44 ms as a product and 1.30 + 0.28
// ms as a convolution with its weights; at 49 rows, 512 to 2048 channels, 2.38 and 2.24 + 1.75; at 784 it is a draw.
constexpr int64_t kFewRows = 256;

}  // namespace

Result<LibraryAnswer> OpenLibraryCall(const Instruction& fusion, Device& device, const LibraryOptions& options) {
  const ContractionAnswer read = ReadContraction(fusion);
  if (!read.why_not.empty()) return LibraryAnswer{nullptr, read.why_not};
  const bool is_dot = read.contraction.product->Is(Opcode::kDot);
  if (!is_dot) {
    if (device.IsHost()) {
      // Few rows: a convolution would spend more on putting the weights in its order than on the product.
      const MatrixAnswer point = ReadPointwiseConvolution(read.contraction);
      if (point.why_not.empty() && point.product.m <= kFewRows) {
        LibraryAnswer answer = TRY(OneDnnMatrixProduct(point.product, options.search));
        if (answer.call != nullptr) return answer;
      }
      return OneDnnConvolution(read.contraction, options.search);
    }
    return LibraryAnswer{nullptr, "no convolution library on cuda yet"};
  }
  const MatrixAnswer matrix = ReadMatrixProduct(read.contraction);
  if (!matrix.why_not.empty()) return LibraryAnswer{nullptr, matrix.why_not};
  if (device.IsHost()) {
    if (auto small = SmallMatrixProduct(matrix.product)) return LibraryAnswer{std::move(small), ""};
    return OneDnnMatrixProduct(matrix.product, options.search);
  }
  return CublasLtMatrixProduct(matrix.product, device, options);
}

}  // namespace hlo::gpu
