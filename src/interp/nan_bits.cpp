#include "interp/nan_bits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ir/component_type.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The bits of a NaN without the sign are above the bits of infinity.
template <class Word>
void UnifyWords(std::byte* elements, int64_t count, Word infinity, Word positive, NanBits bits) {
  constexpr Word kMagnitude = static_cast<Word>(~Word{0}) >> 1;
  const Word nan = bits == NanBits::kNegative ? static_cast<Word>(~Word{0}) : positive;
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, elements + i * sizeof(Word), sizeof(Word));
    word = static_cast<Word>(word & kMagnitude) > infinity ? nan : word;
    std::memcpy(elements + i * sizeof(Word), &word, sizeof(Word));
  }
}

std::array<bool, 256> NansOf(PrimitiveType type) {
  std::array<bool, 256> nans = {};
  Literal element = Literal::Uninitialized(Shape::Scalar(type));
  for (int byte = 0; byte < 256; ++byte) {
    if (BitWidth(type) < 8 && byte >> BitWidth(type) != 0) break;
    *element.mutable_raw() = static_cast<std::byte>(byte);
    nans[byte] = std::isnan(element.GetDouble(0));
  }
  return nans;
}

void UnifyBytes(PrimitiveType type, std::byte* elements, int64_t count, NanBits bits) {
  static const auto kNans = [] {
    std::array<std::array<bool, 256>, 256> nans = {};
    for (int t = 0; t < static_cast<int>(PrimitiveType::kTuple); ++t) {
      const auto narrow = static_cast<PrimitiveType>(t);
      if (IsFloat(narrow) && ByteWidth(narrow) == 1) nans[t] = NansOf(narrow);
    }
    return nans;
  }();
  const std::array<bool, 256>& nans = kNans[static_cast<int>(type)];
  const auto first = std::ranges::find(nans, true);
  if (first == nans.end()) return;
  const bool last = bits == NanBits::kNegative && nans[255];
  const auto nan = last ? std::byte{255} : static_cast<std::byte>(first - nans.begin());
  for (int64_t i = 0; i < count; ++i) {
    if (nans[static_cast<uint8_t>(elements[i])]) elements[i] = nan;
  }
}

bool HasFloats(const Shape& shape) {
  bool has = false;
  ForEachLeaf(shape,
              [&](const ShapeIndex&, const Shape& leaf) { has |= IsFloat(leaf.type()) || IsComplex(leaf.type()); });
  return has;
}

}  // namespace

void UnifyNans(PrimitiveType type, std::byte* elements, int64_t count, NanBits bits) {
  if (bits == NanBits::kOwn) return;
  if (IsComplex(type)) return UnifyNans(ComponentType(type), elements, 2 * count, bits);
  if (!IsFloat(type)) return;
  switch (type) {
    case PrimitiveType::kF64:
      return UnifyWords<uint64_t>(elements, count, 0x7FF0000000000000, 0x7FF8000000000000, bits);
    case PrimitiveType::kF32: return UnifyWords<uint32_t>(elements, count, 0x7F800000, 0x7FC00000, bits);
    case PrimitiveType::kBF16: return UnifyWords<uint16_t>(elements, count, 0x7F80, 0x7FC0, bits);
    case PrimitiveType::kF16: return UnifyWords<uint16_t>(elements, count, 0x7C00, 0x7E00, bits);
    default: return UnifyBytes(type, elements, count, bits);
  }
}

void UnifyNans(Literal& literal, NanBits bits) {
  for (Literal& element : literal.mutable_elements()) UnifyNans(element, bits);
  const Shape& shape = literal.shape();
  if (!shape.IsArray() || literal.byte_size() == 0) return;
  if (IsFloat(shape.type()) || IsComplex(shape.type()))
    UnifyNans(shape.type(), literal.mutable_raw(), shape.NumElements(), bits);
}

std::vector<int64_t> DifferentElements(const Literal& a, const Literal& b, bool strict_nan) {
  std::vector<int64_t> different;
  Literal x = a, y = b;
  if (!strict_nan) {
    UnifyNans(x, NanBits::kPositive);
    UnifyNans(y, NanBits::kPositive);
  }
  const int64_t count = a.shape().NumElements();
  const auto compare = [&]<class Word>(Word) {
    for (int64_t i = 0; i < count; ++i) {
      Word left, right;
      std::memcpy(&left, x.raw() + i * sizeof(Word), sizeof(Word));
      std::memcpy(&right, y.raw() + i * sizeof(Word), sizeof(Word));
      if (left != right) different.push_back(i);
    }
  };
  switch (ByteWidth(a.shape().type())) {
    case 1: compare(uint8_t()); break;
    case 2: compare(uint16_t()); break;
    case 4: compare(uint32_t()); break;
    case 8: compare(uint64_t()); break;
    default: compare(static_cast<unsigned __int128>(0));
  }
  return different;
}

bool ReadsNanBits(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kBitcastConvert:
    case Opcode::kBitcast:
      return HasFloats(inst.operand(0).shape()) && inst.operand(0).shape().type() != inst.shape().type();
    case Opcode::kCompare:
      return inst.attrs<CompareAttrs>().type == ComparisonType::kTotalOrder && HasFloats(inst.operand(0).shape());
    case Opcode::kTopK: return HasFloats(inst.operand(0).shape());
    case Opcode::kCustomCall:
      return std::ranges::any_of(inst.operands(),
                                 [](const Instruction* operand) { return HasFloats(operand->shape()); });
    default: return false;
  }
}

bool ReadsNanBits(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (ReadsNanBits(*inst)) return true;
    }
  }
  return false;
}

}  // namespace hlo
