// What the kernels of an fft go through: lines of one dimension after the other, each line by itself.
//
//   c64[8,64,32] fft over {64,32}    512 lines of 32; then 256 lines of 64, whose elements lie 32 apart
//
// A line that a block has in shared memory is transformed there. A longer one is a matrix of `first` rows, and two
// kernels: its columns, whose results are turned by roots of unity; then its rows, which come out transposed. Source:
// Bailey, FFTs in external or hierarchical memory, 1990.
#ifndef HLO_GPU_PLAN_FFT_SPACE_H_
#define HLO_GPU_PLAN_FFT_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

// What one kernel transforms: element j of line g is at (g / inner * length + j) * inner + g % inner.
struct FftStep {
  int64_t length = 1, outer = 1, inner = 1;
  // Of a transform of so many elements, to which `length` of these belong; more than `length` in the two kernels of a
  // long line.
  int64_t whole = 1;
  bool is_rows = false;  // Of a long line, of which `inner` counts... the rows of a matrix that were its columns.
  int64_t rows = 1;      // Of a long line: its matrix has so many.
  // Elements of a transform that are stored: fewer where the rest are their conjugates.
  int64_t read = 1, written = 1;
  bool from_real = false, mirrors = false, to_real = false;

  int64_t lines() const { return outer * inner; }
  bool is_long() const { return whole > length; }
  // The elements of a real line as complex numbers, each with the next one. Source: Van Loan, 4.3.
  bool is_halved() const { return (from_real || to_real) && !is_long() && length >= 4 && length % 2 == 0; }
  int64_t points() const { return is_halved() ? length / 2 : length; }  // Of the transform that is done.
};

// How a block transforms a line. Lengths with a factor that is no small prime are convolutions with a chirp, of a
// length that is a power of two (Bluestein).
struct FftForm {
  explicit FftForm(int64_t length);

  bool chirps;
  int64_t size;                              // Of the transform that is made of `first` and `second`.
  int64_t first, second;                     // Rows and columns of the matrix that it is taken for.
  std::vector<int64_t> of_first, of_second;  // Their factors.
};

struct FftSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;
  bool is_inverse = false;
  PrimitiveType part = PrimitiveType::kF32;
  NodeId element = -1;  // Of the operand, at the one variable: its number, row-major.
  std::vector<FftStep> steps;
};

// Null where the root is no fft. Errors (kUnsupported): no kernels for it.
Result<std::unique_ptr<FftSpace>> FftSpaceOf(const FusionBody& body);

// Lines that a block takes at a time: they divide those that lie side by side.
int64_t LinesOfBlock(const FftSpace& space, const FftStep& step);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_FFT_SPACE_H_
