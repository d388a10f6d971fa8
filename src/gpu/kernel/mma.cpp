#include "gpu/kernel/mma.h"

#include <bit>
#include <cmath>

#include "base/check.h"

namespace hlo::kernel {
namespace {

constexpr MmaInfo kShapes[] = {
    {.text = "m16n8k16.f16", .operand = Type::kF16, .accumulator = Type::kF32, .terms = 16},
    {.text = "m16n8k16.bf16", .operand = Type::kBF16, .accumulator = Type::kF32, .terms = 16},
    {.text = "m16n8k8.tf32", .operand = Type::kF32, .accumulator = Type::kF32, .terms = 8},
    {.text = "m16n8k32.s8", .operand = Type::kS8, .accumulator = Type::kS32, .terms = 32},
};

float ToFloat(MmaShape shape, uint32_t bits) {
  switch (shape) {
    case MmaShape::kF16: return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    case MmaShape::kBF16: return std::bit_cast<float>(bits << 16);
    case MmaShape::kTF32: return std::bit_cast<float>(bits & kTf32Bits);
    case MmaShape::kS8: break;
  }
  CHECK(false, "no float: ", InfoOf(shape).text);
  return 0;
}

uint32_t MultiplyAdd(MmaShape shape, uint32_t a, uint32_t b, uint32_t sum) {
  if (shape == MmaShape::kS8)
    return sum + static_cast<uint32_t>(static_cast<int8_t>(a)) * static_cast<uint32_t>(static_cast<int8_t>(b));
  return std::bit_cast<uint32_t>(std::fma(ToFloat(shape, a), ToFloat(shape, b), std::bit_cast<float>(sum)));
}

}  // namespace

const MmaInfo& InfoOf(MmaShape shape) { return kShapes[static_cast<int>(shape)]; }

int Rows(FragmentKind kind) { return kind.role == FragmentRole::kRight ? InfoOf(kind.shape).terms : kMmaRows; }
int Columns(FragmentKind kind) { return kind.role == FragmentRole::kLeft ? InfoOf(kind.shape).terms : kMmaColumns; }

Type ElementType(FragmentKind kind) {
  const MmaInfo& info = InfoOf(kind.shape);
  return kind.role == FragmentRole::kSum ? info.accumulator : info.operand;
}

int LaneElements(FragmentKind kind) { return LaneElements(Rows(kind), Columns(kind)); }
int PerWord(FragmentKind kind) { return 4 / Bytes(ElementType(kind)); }

// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16". Other shapes follow the same rule.
FragmentLayout LayoutOf(FragmentKind kind) {
  const int words = PerWord(kind);
  switch (kind.role) {
    case FragmentRole::kLeft:
      return {.group = {1, 0}, .member = {0, words}, .within = {0, 1}, .low = {8, 0}, .high = {0, 4 * words}};
    case FragmentRole::kRight:
      return {.group = {0, 1}, .member = {words, 0}, .within = {1, 0}, .low = {4 * words, 0}, .high = {}};
    case FragmentRole::kSum: break;
  }
  return {.group = {1, 0}, .member = {0, 2}, .within = {}, .low = {0, 1}, .high = {8, 0}};
}

MatrixPosition ElementOffset(FragmentKind kind, int element) {
  const FragmentLayout layout = LayoutOf(kind);
  const int word = element / PerWord(kind), within = element % PerWord(kind), low = word & 1, high = word >> 1;
  return {.row = within * layout.within.row + low * layout.low.row + high * layout.high.row,
          .column = within * layout.within.column + low * layout.low.column + high * layout.high.column};
}

MatrixPosition PositionOf(FragmentKind kind, int lane, int element) {
  const FragmentLayout layout = LayoutOf(kind);
  const MatrixPosition offset = ElementOffset(kind, element);
  const int group = lane / 4, member = lane % 4;
  return {.row = offset.row + group * layout.group.row + member * layout.member.row,
          .column = offset.column + group * layout.group.column + member * layout.member.column};
}

void Multiply(MmaShape shape, std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> sum) {
  const int terms = InfoOf(shape).terms;
  for (int row = 0; row < kMmaRows; ++row) {
    for (int column = 0; column < kMmaColumns; ++column) {
      uint32_t& element = sum[row * kMmaColumns + column];
      for (int k = 0; k < terms; ++k)
        element = MultiplyAdd(shape, a[row * terms + k], b[k * kMmaColumns + column], element);
    }
  }
}

}  // namespace hlo::kernel
