// The kernels of an fft. It transforms the lines of one dimension after another, each line independently.
//
//   c64[8,64,32] fft over {64,32}    512 lines of 32; then 256 lines of 64 with a stride of 32
//
// A line that fits into the shared memory of a block is transformed there. A longer line is treated as a matrix with
// `first` rows. One kernel transforms its columns and multiplies the results by roots of unity; a second kernel
// transforms its rows and writes them transposed. Source: Bailey, FFTs in external or hierarchical memory, 1990.
#ifndef HLO_GPU_PLAN_FFT_SPACE_H_
#define HLO_GPU_PLAN_FFT_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

// The lines of one kernel. Element j of line g is at (g / inner * length + j) * inner + g % inner.
struct FftStep {
  int64_t length = 1, outer = 1, inner = 1;
  // The number of elements in the whole transform. Larger than `length` in the two kernels of a long line.
  int64_t whole = 1;
  bool is_rows = false;  // The second kernel of a long line, which transforms the rows of the matrix.
  int64_t rows = 1;      // For a long line: the number of rows of its matrix.
  // Elements of a transform that are stored. Fewer if the others are their conjugates.
  int64_t read = 1, written = 1;
  bool from_real = false, mirrors = false, to_real = false;

  int64_t lines() const { return outer * inner; }
  bool is_long() const { return whole > length; }
  // Whether pairs of adjacent elements of a real line are transformed as complex numbers. Source: Van Loan, 4.3.
  bool is_halved() const { return (from_real || to_real) && !is_long() && length >= 4 && length % 2 == 0; }
  int64_t points() const { return is_halved() ? length / 2 : length; }  // Length of the actual transform.
};

// The algorithm for one line in a block. Lengths with a large prime factor become convolutions with a chirp, with a
// power of two as length (Bluestein).
struct FftForm {
  explicit FftForm(int64_t length);

  bool chirps;
  int64_t size;                              // Length of the transform as first * second.
  int64_t first, second;                     // Rows and columns of its matrix.
  std::vector<int64_t> of_first, of_second;  // Prime factors of both.
};

struct FftSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;
  bool is_inverse = false;
  PrimitiveType part = PrimitiveType::kF32;
  NodeId element = -1;  // The operand's element at the row-major number in the only variable.
  std::vector<FftStep> steps;
};

// Returns null if the root is not an fft. Errors (kUnsupported): there are no kernels for it.
Result<std::unique_ptr<FftSpace>> FftSpaceOf(const FusionBody& body);

// The lines that a block transforms at a time. The number divides the number of adjacent lines.
int64_t LinesOfBlock(const FftSpace& space, const FftStep& step);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_FFT_SPACE_H_
