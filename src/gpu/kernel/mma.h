// Matrix products of a warp (mma.sync of PTX): shapes, distribution of elements over lanes, and exact results.
//
// A product adds a [16, terms] matrix times a [terms, 8] matrix to a [16, 8] matrix. Each is a fragment: a slot with
// some elements in every lane (LayoutOf).
//
// On the host and in the emulator, sum = fma(a[i, k], b[k, j], sum) for k = 0, 1, .... Products are exact in f32, so
// only the additions round. Integers wrap.
//
// A GPU adds a group of terms at a time to the sum, in an unspecified order. It aligns them to the exponent of the
// largest number, truncates below 2^-23 of that number, adds, and truncates again. Let S be |sum| plus the sum of all
// |a*b|. A group loses less than (group + 2) 2^-23 S, and all terms lose less than (1 + 2 / group) terms 2^-23 S.
// Comparisons with a GPU allow for group = 1: 3 terms 2^-23 S. The result on the host loses at most terms 2^-24 S.
// Second-order terms are omitted. Source of the truncation: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of
// NVIDIA tensor cores", 2021.
#ifndef HLO_GPU_KERNEL_MMA_H_
#define HLO_GPU_KERNEL_MMA_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct MmaInfo {
  std::string_view text;
  Type operand;  // kF32 for tf32, whose last 13 bits are ignored.
  Type accumulator;
  int terms;
};
const MmaInfo& InfoOf(MmaShape shape);

constexpr int kMmaRows = 16, kMmaColumns = 8;
constexpr uint32_t kTf32Bits = 0xffffe000;

int Rows(FragmentKind kind);
int Columns(FragmentKind kind);
Type ElementType(FragmentKind kind);
constexpr int LaneElements(int rows, int columns) { return rows * columns / kWarpSize; }
int LaneElements(FragmentKind kind);
int PerWord(FragmentKind kind);  // Elements in a 32-bit word of a lane.

struct MatrixPosition {
  int row = 0, column = 0;
  bool operator==(const MatrixPosition&) const = default;
};
// The row and column of an element in a fragment, where word = element / PerWord(kind):
//
//   lane / 4 * group + lane % 4 * member + element % PerWord(kind) * within + word % 2 * low + word / 2 * high
struct FragmentLayout {
  MatrixPosition group, member, within, low, high;
};
FragmentLayout LayoutOf(FragmentKind kind);
// The part of an element's position that is equal for all lanes.
MatrixPosition ElementOffset(FragmentKind kind, int element);
MatrixPosition PositionOf(FragmentKind kind, int lane, int element);

// sum += a * b for row-major matrices, whose elements are given as bits.
void Multiply(MmaShape shape, std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> sum);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MMA_H_
