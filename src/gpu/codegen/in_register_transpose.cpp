#include "gpu/codegen/in_register_transpose.h"

#include <algorithm>

#include <llvm/IR/DerivedTypes.h>

namespace hlo::kernel {
namespace {

using Mask = llvm::SmallVector<int, kMostTransposed>;

// Replaces lines i and i + distance by elements of both, which the masks select.
void Exchange(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& lines, int distance, const Mask& low,
              const Mask& high) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i & distance) continue;
    llvm::Value *const first = lines[i], *const second = lines[i + distance];
    lines[i] = b.CreateShuffleVector(first, second, low);
    lines[i + distance] = b.CreateShuffleVector(first, second, high);
  }
}

// Takes runs of `run` elements alternately from both lines, in the lower (upper) half of each 16 bytes, like x86's
// unpack instructions.
Mask Interleaved(int elements, int per_part, int run, bool upper) {
  Mask mask;
  for (int part = 0; part < elements; part += per_part) {
    for (int i = 0; i < per_part; ++i) {
      const int pair = i / (2 * run), line = i / run % 2;
      mask.push_back(part + (upper ? per_part / 2 : 0) + pair * run + i % run + line * elements);
    }
  }
  return mask;
}

// Selects element i of line `upper`, or element i ^ distance of the other line if bit `distance` of i is not `upper`.
Mask SwapMask(int elements, int distance, bool upper) {
  Mask mask;
  for (int i = 0; i < elements; ++i) {
    const bool other = static_cast<bool>(i & distance) != upper;
    mask.push_back((other ? i ^ distance : i) + (upper != other ? elements : 0));
  }
  return mask;
}

int BitsReversed(int value, int limit) {
  int reversed = 0;
  for (int bit = 1, mirror = limit / 2; mirror > 0; bit *= 2, mirror /= 2) reversed |= value & bit ? mirror : 0;
  return reversed;
}

}  // namespace

void TransposeInRegisters(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& lines) {
  const int elements = static_cast<int>(lines.size());
  const int per_part = std::min<int>(elements, 128 / lines[0]->getType()->getScalarSizeInBits());
  for (int run = 1; run < per_part; run *= 2) {
    Exchange(b, lines, run, Interleaved(elements, per_part, run, false), Interleaved(elements, per_part, run, true));
  }
  // Part p of line i now contains column p * per_part + BitsReversed(i % per_part) of the group of per_part lines that
  // contains i.
  llvm::SmallVector<llvm::Value*> ordered(elements);
  for (int i = 0; i < elements; ++i) ordered[i / per_part * per_part + BitsReversed(i % per_part, per_part)] = lines[i];
  std::copy(ordered.begin(), ordered.end(), lines.begin());
  for (int distance = per_part; distance < elements; distance *= 2) {
    Exchange(b, lines, distance, SwapMask(elements, distance, false), SwapMask(elements, distance, true));
  }
}

}  // namespace hlo::kernel
