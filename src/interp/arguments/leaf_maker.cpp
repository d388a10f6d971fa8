#include "interp/arguments/leaf_maker.h"

#include <utility>

#include "base/parallel.h"
#include "interp/arguments/leaf_values.h"

namespace hlo {
namespace {

constexpr int64_t kGrain = 1 << 14;

// Keeps the facts by which profiles make inputs difficult.
LeafRange Unconstrained(const LeafRange& range) {
  LeafRange free;
  free.is_key = range.is_key;
  free.key_dim = range.key_dim;
  free.is_summed = range.is_summed;
  free.repeats = range.repeats;
  free.summed_dim = range.summed_dim;
  return free;
}

}  // namespace

uint64_t Permuted(uint64_t i, uint64_t count, uint64_t key) {
  int half = 1;
  while (half < 32 && (uint64_t{1} << 2 * half) < count) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = i >> half, right = i & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t mixed = (right + 1) * 0x9E3779B97F4A7C15 ^ (key + round * 0xD1B54A32D192ED03);
      mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9;
      mixed ^= mixed >> 29;
      left = std::exchange(right, left ^ (mixed >> 7 & mask));
    }
    i = left << half | right;
  } while (i >= count);
  return i;
}

LeafDraws::LeafDraws(const Shape& of, const LeafRange& in, const ArgumentOptions& with, int64_t parameter, int64_t leaf)
    : shape(of),
      range(in),
      options(with),
      high(CounterOf(parameter, leaf)),
      key(Philox(with.seed, ~uint64_t{0}, high).Wide()),
      // Leaves begin at different numbers, which reveals confused leaves.
      first(static_cast<uint64_t>(parameter) * 7919 + static_cast<uint64_t>(leaf) * 104729),
      strides(RowMajorStrides(of.dims())) {}

PhiloxBlock LeafDraws::Draw(int64_t i, Part part) const {
  const PhiloxBlock real = Philox(options.seed, static_cast<uint64_t>(i), high);
  if (part == Part::kReal) return real;
  // Both parts share a random block, because most profiles need one word for each.
  PhiloxBlock imaginary = Philox(options.seed, static_cast<uint64_t>(i) | uint64_t{1} << 63, high);
  imaginary.words[0] = real.words[1];
  return imaginary;
}

uint64_t LeafDraws::PlaceOf(int64_t i, uint64_t count) const {
  const auto place = static_cast<uint64_t>(i);
  if (Numbers() <= count) return (place + first) % count;
  return Permuted(place % count, count, key + place / count);
}

int64_t LeafDraws::KeyOf(int64_t i) const {
  if (options.profile != InputProfile::kTies) return i;
  const int64_t d = range.key_dim;
  const bool known = d >= 0 && d < shape.rank();
  const int64_t stride = known ? strides[d] : 1;
  while ((known ? i / stride % shape.dim(d) : i) > 0 && Draw(i).words[3] % 10 < 3) i -= stride;
  return i;
}

int64_t Between(const PhiloxBlock& random, int64_t low, int64_t high) {
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (count == 0) return static_cast<int64_t>(random.Wide());
  return static_cast<int64_t>(static_cast<uint64_t>(low) +
                              static_cast<uint64_t>(static_cast<unsigned __int128>(random.Wide()) * count >> 64));
}

Literal MakeLeaf(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter,
                 int64_t leaf, double tighten) {
  Literal literal(shape);
  if (!shape.IsArray()) return literal;
  const PrimitiveType type = shape.type();
  const LeafDraws draws(shape, options.constrain ? range : Unconstrained(range), options, parameter, leaf);
  std::optional<LeafFloats> floats;
  std::optional<LeafIntegers> integers;
  if (IsFloat(ComponentType(type))) floats.emplace(draws, tighten);
  else integers.emplace(draws);
  literal.mutable_raw();  // Allocates before threads write.
  ParallelFor(shape.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    if (type == PrimitiveType::kF32) {
      float* out = reinterpret_cast<float*>(const_cast<std::byte*>(literal.raw()));
      for (int64_t i = floats->MakePlain(out, begin, end); i < end; ++i) out[i] = static_cast<float>(floats->At(i));
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      if (IsFloat(type)) {
        literal.SetDouble(i, floats->At(i));
      } else if (IsComplex(type)) {
        literal.SetComplex(i, {floats->At(i), floats->At(i, Part::kImaginary)});
      } else {
        literal.SetInt(i, integers->At(i));
      }
    }
  });
  return literal;
}

}  // namespace hlo
