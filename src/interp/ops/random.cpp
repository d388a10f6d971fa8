// Random bits by threefry and philox, equal to XLA's to the bit, and `rng`: docs/ops.md#random-numbers.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/functions.h"
#include "interp/scratch.h"
#include "interp/strided.h"

namespace hlo {
namespace {

// Threefry-2x32, 20 rounds.
std::array<uint32_t, 2> ThreeFry(uint64_t key, uint64_t counter) {
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {k0, k1, 0x1BD11BDA ^ k0 ^ k1};
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x0 = static_cast<uint32_t>(counter) + k0, x1 = static_cast<uint32_t>(counter >> 32) + k1;
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

// Philox-4x32, 10 rounds.
std::array<uint32_t, 4> Philox(uint64_t key, unsigned __int128 counter) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                   static_cast<uint32_t>(counter >> 64), static_cast<uint32_t>(counter >> 96)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{x[0]} * 0xD2511F53, p1 = uint64_t{x[2]} * 0xCD9E8D57;
    const uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(p1),
                              static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p0)};
    std::copy_n(next, 4, x);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {x[0], x[1], x[2], x[3]};
}

void StoreBits(const uint64_t* bits, PrimitiveType type, std::byte* to, int64_t count) {
  const int64_t bytes = ByteWidth(type);
  const uint64_t mask = ~uint64_t{0} >> (64 - BitWidth(type));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = bits[i] & mask;
    if (IsSigned(type))
      value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - BitWidth(type))) >> (64 - BitWidth(type)));
    std::memcpy(to + i * bytes, &value, bytes);
  }
}

// Returns the number of cipher blocks. A block makes one element of 64 bits. Otherwise it makes two, which are
// neighbours along the first dimension of even size, or else along the first of the largest dimensions.
uint64_t ThreeFryBits(uint64_t key, uint64_t counter, const Shape& shape, Scratch<uint64_t>& bits) {
  const int64_t count = bits.size();
  if (BitWidth(shape.type()) == 64) {
    ParallelFor(count, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const auto out = ThreeFry(key, counter + j);
        bits[j] = out[0] | uint64_t{out[1]} << 32;
      }
    });
    return count;
  }
  Dims dims = shape.dims();
  if (dims.empty()) dims.push_back(1);
  size_t split = std::find_if(dims.begin(), dims.end(), [](int64_t dim) { return dim % 2 == 0; }) - dims.begin();
  if (split == dims.size()) split = std::max_element(dims.begin(), dims.end()) - dims.begin();
  const int64_t size = dims[split], half = (size + 1) / 2;
  const int64_t inner = Product(std::span(dims).subspan(split + 1));
  const int64_t blocks = Product(std::span(dims).first(split)) * half * inner;
  ParallelFor(blocks, 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const auto out = ThreeFry(key, counter + j);
      const int64_t i = j / inner % half, outer = j / inner / half;
      const int64_t at = (outer * size + 2 * i) * inner + j % inner;
      bits[at] = out[0];
      if (2 * i + 1 < size) bits[at + inner] = out[1];
    }
  });
  return blocks;
}

uint64_t PhiloxBits(uint64_t key, unsigned __int128 counter, PrimitiveType type, Scratch<uint64_t>& bits) {
  const int64_t count = bits.size();
  const int64_t in_block = BitWidth(type) == 64 ? 2 : 4, blocks = (count + in_block - 1) / in_block;
  ParallelFor(blocks, 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const auto words = Philox(key, counter + j);
      for (int64_t t = 0; t < in_block && j * in_block + t < count; ++t) {
        bits[j * in_block + t] = in_block == 2 ? words[2 * t] | uint64_t{words[2 * t + 1]} << 32 : words[t];
      }
    }
  });
  return blocks;
}

}  // namespace

Result<Literal> EvalRngBitGenerator(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  const Literal& state = e.operands[0];
  const auto words = state.shape().NumElements();
  if (!shape.IsTuple() || state.shape().type() != PrimitiveType::kU64 || (words != 2 && words != 3)) {
    FAIL(UnsupportedAt(
        e.inst, "U002",
        Str("'rng-bit-generator' from ", state.shape(), " to ", shape, " is not supported by the interpreter")));
  }
  const Shape& bits_shape = shape.element(1);
  if (bits_shape.type() == PrimitiveType::kPred || IsComplex(bits_shape.type())) {
    FAIL(UnsupportedAt(e.inst, "U002",
                       Str("'rng-bit-generator' of ", bits_shape.type(), " is not supported by the interpreter")));
  }
  Scratch<uint64_t> bits(bits_shape.NumElements());
  const auto old = state.data<uint64_t>();
  Literal next(shape.element(0));
  auto fresh = next.mutable_data<uint64_t>();
  fresh[0] = old[0];
  if (e.inst.attrs<RngBitGeneratorAttrs>().algorithm == RandomAlgorithm::kThreeFry) {
    if (words != 2)
      FAIL(UnsupportedAt(e.inst, "U002", "'rng-bit-generator' with rng_three_fry takes a state of u64[2]"));
    fresh[1] = old[1] + ThreeFryBits(old[0], old[1], bits_shape, bits);
  } else {
    // A state is (key, low word of the counter, high word). If the third word is missing, the key is the high word.
    const uint64_t high = words == 3 ? old[2] : old[0];
    unsigned __int128 counter = static_cast<unsigned __int128>(high) << 64 | old[1];
    counter += PhiloxBits(old[0], counter, bits_shape.type(), bits);
    fresh[1] = static_cast<uint64_t>(counter);
    if (words == 3) fresh[2] = static_cast<uint64_t>(counter >> 64);
  }
  Literal values = Literal::Uninitialized(bits_shape);
  StoreBits(bits.data(), bits_shape.type(), values.mutable_raw(), bits.size());
  return Literal::Tuple({std::move(next), std::move(values)});
}

Result<Literal> EvalRngGetAndUpdateState(Evaluation& e) {
  Literal old(e.inst.shape());
  auto words = old.mutable_data<uint64_t>();
  std::copy_n(e.session.rng_state, 2, words.begin());
  const uint64_t delta = static_cast<uint64_t>(e.inst.attrs<RngStateAttrs>().delta);
  e.session.rng_state[0] += delta;
  e.session.rng_state[1] += e.session.rng_state[0] < delta;
  return old;
}

namespace {

// Draws 32 or 64 bits for each element. The key is the seed xor the replica. The counter is the session's state, which
// advances by the number of words.
Scratch<uint64_t> Draw(Session& session, int width, int64_t count) {
  Scratch<uint64_t> bits(count + count % 2);
  const uint64_t replica = session.place() ? static_cast<uint64_t>(session.place()->replica) : 0;
  uint64_t* const state = session.rng_state;
  PhiloxBits(session.options().seed ^ replica, static_cast<unsigned __int128>(state[1]) << 64 | state[0],
             width == 64 ? PrimitiveType::kU64 : PrimitiveType::kU32, bits);
  const uint64_t words = static_cast<uint64_t>(count) * (width / 32);
  state[0] += words;
  state[1] += state[0] < words;
  return bits;
}

template <class F>
F Fraction(uint64_t bits) {
  if constexpr (std::is_same_v<F, double>) return static_cast<double>(bits >> 12) * 0x1p-52;
  else return static_cast<float>(bits >> 9) * 0x1p-23F;
}

template <class F>
F Rounded(Opcode function, F x) {
  return static_cast<F>(FloatFunctionOf(function)->f64(x));
}

// The Box-Muller method.
template <class F>
F Normal(const Scratch<uint64_t>& bits, int64_t i) {
  const F u = std::max(Fraction<F>(bits[i & ~int64_t{1}]), static_cast<F>(1e-7));
  const F angle = static_cast<F>(2 * M_PI) * Fraction<F>(bits[i | 1]);
  const F radius = Rounded<F>(Opcode::kSqrt, F{-2} * Rounded<F>(Opcode::kLog, u));
  return Rounded<F>(i % 2 == 0 ? Opcode::kSin : Opcode::kCos, angle) * radius;
}

// A number rounded up to the upper end becomes the lower end.
template <class F>
void DrawFloats(Evaluation& e, Literal& result) {
  const double low = e.operands[0].GetDouble(0), high = e.operands[1].GetDouble(0);
  const F a = static_cast<F>(low), b = static_cast<F>(high);
  const bool normal = e.inst.attrs<RngAttrs>().distribution == RandomDistribution::kNormal;
  const int64_t count = result.shape().NumElements();
  const Scratch<uint64_t> bits = Draw(e.session, sizeof(F) * 8, count);
  for (int64_t i = 0; i < count; ++i) {
    if (normal) {
      result.SetDouble(i, Normal<F>(bits, i) * b + a);
      continue;
    }
    const F scaled = Fraction<F>(bits[i]) * (b - a);
    result.SetDouble(i, scaled + a);
    if (low < high && result.GetDouble(i) >= high) result.SetDouble(i, low);
  }
}

void DrawIntegers(Evaluation& e, Literal& result) {
  const PrimitiveType type = result.shape().type();
  const int64_t low = e.operands[0].GetInt(0), high = e.operands[1].GetInt(0), count = result.shape().NumElements();
  const bool some = IsSigned(type) ? low < high : static_cast<uint64_t>(low) < static_cast<uint64_t>(high);
  const uint64_t range = some ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 1;
  const Scratch<uint64_t> bits = Draw(e.session, BitWidth(type) == 64 ? 64 : 32, count);
  for (int64_t i = 0; i < count; ++i)
    result.SetInt(i, static_cast<int64_t>(static_cast<uint64_t>(low) + bits[i] % range));
}

}  // namespace

// The bits equal the bits of passes/expanders/rng_expander.cpp.
Result<Literal> EvalRng(Evaluation& e) {
  const PrimitiveType type = e.inst.shape().type();
  const bool normal = e.inst.attrs<RngAttrs>().distribution == RandomDistribution::kNormal;
  if (IsComplex(type) || (normal && !IsFloat(type)))
    FAIL(UnsupportedAt(e.inst, "U002",
                       Str("'rng' with distribution ", e.inst.attrs<RngAttrs>().distribution, " of ", e.inst.shape(),
                           " is not supported by the interpreter")));
  Literal result(e.inst.shape());
  if (type == PrimitiveType::kPred) {
    const int64_t count = result.shape().NumElements();
    const Scratch<uint64_t> bits = Draw(e.session, 32, count);
    for (int64_t i = 0; i < count; ++i) result.SetInt(i, static_cast<int64_t>(bits[i] & 1));
  } else if (type == PrimitiveType::kF64) {
    DrawFloats<double>(e, result);
  } else if (IsFloat(type)) {
    DrawFloats<float>(e, result);
  } else {
    DrawIntegers(e, result);
  }
  return result;
}

}  // namespace hlo
