// The kernels of an fft, which transforms the lines of one dimension after another.
//
//   c64[8,64,32] fft over {64,32}    512 lines of 32; then 256 lines of 64 with a stride of 32
//
// A line that exceeds a block's shared memory becomes a matrix. One kernel transforms its columns and multiplies the
// results by roots of unity. A second one transforms its rows and writes them transposed. Source: Bailey, FFTs in
// external or hierarchical memory, 1990.
#ifndef HLO_GPU_PLAN_FFT_SPACE_H_
#define HLO_GPU_PLAN_FFT_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

// One kernel's lines. Element j of line g is at (g / inner * length + j) * inner + g % inner.
struct FftStep {
  int64_t length = 1, outer = 1, inner = 1;
  // Length of the whole transform, larger than `length` for a long line.
  int64_t whole = 1;
  bool is_rows = false;  // The second kernel of a long line.
  int64_t rows = 1;      // Rows of a long line's matrix.
  // A line's elements in memory: fewer than `length` if the others are conjugates.
  int64_t read = 1, written = 1;
  bool from_real = false, mirrors = false, to_real = false;

  int64_t lines() const { return outer * inner; }
  bool is_long() const { return whole > length; }
  // Whether pairs of adjacent elements of a real line become complex numbers. Source: Van Loan, 4.3.
  bool is_halved() const { return (from_real || to_real) && !is_long() && length >= 4 && length % 2 == 0; }
  int64_t points() const { return is_halved() ? length / 2 : length; }  // Length of the actual transform.
};

// The algorithm for a line in a block. Lengths with a large prime factor become convolutions with a chirp (Bluestein),
// padded to a power of two.
struct FftForm {
  explicit FftForm(int64_t length);

  bool chirps;
  int64_t size;
  int64_t first, second;  // Rows and columns of a line as a matrix.
  std::vector<int64_t> of_first, of_second;
};

struct FftSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;
  bool is_inverse = false;
  PrimitiveType part = PrimitiveType::kF32;
  NodeId element = -1;  // The operand's element, with its row-major number as the only variable.
  std::vector<FftStep> steps;
};

// Returns null if the root is not an fft. Errors: kUnsupported.
Result<std::unique_ptr<FftSpace>> FftSpaceOf(const FusionBody& body);

// Lines that a block transforms together: a divisor of the number of adjacent lines.
int64_t LinesOfBlock(const FftSpace& space, const FftStep& step);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_FFT_SPACE_H_
