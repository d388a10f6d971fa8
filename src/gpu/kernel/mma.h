// Matrix products of a warp (mma.sync of PTX): their shapes, which lane holds which element, and what they compute. The
// builder, both lowerings, the emulator and the tests ask here. No LLVM.
//
// A product adds a [16, terms] matrix times a [terms, 8] matrix to a [16, 8] one. Each of the three is a fragment: a
// slot of the warp in which every lane holds some elements (LayoutOf).
//
// What it computes, to the bit on the host and in the emulator, is sum = fma(a[i, k], b[k, j], sum) for k = 0, 1, ...
// Products of these types are exact in f32, so only the additions round. Integers are exact, and wrap.
//
// What a GPU computes of floats is not that. It takes some of the terms at a time, in an order it does not tell,
// together with the sum; brings all to the exponent of the largest, drops what is then below 2^-23 of that, adds, and
// drops again. With S = |sum| + sum of |a b|, taking `group` terms at a time loses less than (group + 2) 2^-23 S, all
// terms so less than (1 + 2 / group) terms 2^-23 S; whoever compares with a GPU allows for group = 1: 3 terms 2^-23 S.
// Ours loses at most terms 2^-24 S, plus what is of second order in both. Source: Fasi, Higham, Mikaitis, Pranesh,
// "Numerical behavior of NVIDIA tensor cores", 2021, for how sums are cut; the bounds follow.
#ifndef HLO_GPU_KERNEL_MMA_H_
#define HLO_GPU_KERNEL_MMA_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct MmaInfo {
  std::string_view text;
  Type operand;  // kF32 for tf32: what its last 13 bits say is ignored.
  Type accumulator;
  int terms;
};
const MmaInfo& InfoOf(MmaShape shape);

constexpr int kMmaRows = 16, kMmaColumns = 8;
constexpr uint32_t kTf32Bits = 0xffffe000;  // Of an f32.

int Rows(FragmentKind kind);
int Columns(FragmentKind kind);
Type ElementType(FragmentKind kind);
constexpr int LaneElements(int rows, int columns) { return rows * columns / kWarpSize; }
int LaneElements(FragmentKind kind);
int PerWord(FragmentKind kind);  // Elements of a lane in each of its 32-bit words.

struct MatrixPosition {
  int row = 0, column = 0;
  bool operator==(const MatrixPosition&) const = default;
};
// A lane's elements lie where its number and theirs, taken apart, lead: position = lane / 4 * group + lane % 4 * member
// + element in its word * within + low bit of the word's number * low + next bit * high.
struct FragmentLayout {
  MatrixPosition group, member, within, low, high;
};
FragmentLayout LayoutOf(FragmentKind kind);
// The part of an element's position that is the same for all lanes.
MatrixPosition ElementOffset(FragmentKind kind, int element);
MatrixPosition PositionOf(FragmentKind kind, int lane, int element);

// sum += a * b, of matrices row by row; elements as bits.
void Multiply(MmaShape shape, std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> sum);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MMA_H_
