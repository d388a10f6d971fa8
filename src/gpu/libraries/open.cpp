#include "gpu/libraries/open.h"

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/onednn.h"

namespace hlo::gpu {

Result<LibraryAnswer> OpenLibraryCall(const Instruction& fusion, Device& device, const LibraryOptions& options) {
  const ContractionAnswer read = ReadContraction(fusion);
  if (!read.why_not.empty()) return LibraryAnswer{nullptr, read.why_not};
  const bool is_dot = read.contraction.product->Is(Opcode::kDot);
  if (!is_dot) {
    if (device.IsHost()) return OneDnnConvolution(read.contraction, options.search);
    return LibraryAnswer{nullptr, "no convolution library on cuda yet"};
  }
  const MatrixAnswer matrix = ReadMatrixProduct(read.contraction);
  if (!matrix.why_not.empty()) return LibraryAnswer{nullptr, matrix.why_not};
  if (device.IsHost()) return OneDnnMatrixProduct(matrix.product, options.search);
  return CublasLtMatrixProduct(matrix.product, device, options);
}

}  // namespace hlo::gpu
