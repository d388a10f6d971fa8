// Expands random bits to threefry 2x32 (20 rounds) or philox 4x32 (10 rounds): docs/ops.md#random-numbers.
#include <algorithm>

#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

using Words = std::vector<Instruction*>;  // Arrays of one shape.

class Expansion {
 public:
  explicit Expansion(Instruction& inst) : inst_(inst), bits_(inst.shape().element(1)) {}

  Instruction* Run() {
    const bool threefry = inst_.attrs<RngBitGeneratorAttrs>().algorithm == RandomAlgorithm::kThreeFry;
    const auto words = inst_.operand(0).shape().dim(0);
    Instruction *const key = State(0), *const low = State(1);
    Words next = {key};
    Instruction* values;
    if (threefry) {
      values = ThreeFryBits(key, low);
      next.push_back(Add(low, Like(low, blocks_)));
    } else {
      Instruction* const high = State(words == 3 ? 2 : 0);
      values = PhiloxBits(key, low, high);
      Instruction* const sum = Add(low, Like(low, blocks_));
      next.push_back(sum);
      if (words == 3) next.push_back(Add(high, Carry(sum, low)));
    }
    for (Instruction*& word : next) word = Reshape(word, {1});
    const Shape& state = inst_.shape().element(0);
    Instruction* const after = Step(inst_, Opcode::kConcatenate, state, next, OneDimensionAttrs{{0}});
    return Replace(inst_, Opcode::kTuple, {after, AsType(values)});
  }

 private:
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Step(inst_, opcode, a->shape(), {a, b}); }
  Instruction* Add(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Xor(Instruction* a, Instruction* b) { return Binary(Opcode::kXor, a, b); }
  Instruction* Like(Instruction* a, uint64_t value) {
    Instruction* const scalar =
        &inst_.computation().AddConstant(Literal::Scalar(a->shape().type(), static_cast<int64_t>(value)));
    return Widen(scalar, a->shape());
  }
  Instruction* Widen(Instruction* scalar, const Shape& to) {
    if (to.IsScalar()) return scalar;
    return Step(inst_, Opcode::kBroadcast, to.WithType(scalar->shape().type()), {scalar}, DimensionsAttrs{});
  }
  Instruction* As(Instruction* a, PrimitiveType type) {
    return a->shape().type() == type ? a : Step(inst_, Opcode::kConvert, a->shape().WithType(type), {a});
  }
  Instruction* High(Instruction* a) {
    return As(Binary(Opcode::kShiftRightLogical, a, Like(a, 32)), PrimitiveType::kU32);
  }
  Instruction* Low(Instruction* a) { return As(a, PrimitiveType::kU32); }
  Instruction* Wide(Instruction* high, Instruction* low) {
    Instruction* const upper = As(high, PrimitiveType::kU64);
    return Binary(Opcode::kOr, As(low, PrimitiveType::kU64), Binary(Opcode::kShiftLeft, upper, Like(upper, 32)));
  }
  Instruction* RotateLeft(Instruction* a, uint64_t by) {
    return Binary(Opcode::kOr, Binary(Opcode::kShiftLeft, a, Like(a, by)),
                  Binary(Opcode::kShiftRightLogical, a, Like(a, 32 - by)));
  }
  Instruction* Carry(Instruction* sum, Instruction* before) {
    return As(Step(inst_, Opcode::kCompare, sum->shape().WithType(PrimitiveType::kPred), {sum, before},
                   CompareAttrs{ComparisonDirection::kLt, ComparisonType::kDefault}),
              sum->shape().type());
  }
  Instruction* Reshape(Instruction* a, const std::vector<int64_t>& dims) {
    const Shape shape = a->shape().WithDims(Dims(dims.begin(), dims.end()));
    return shape == a->shape() ? a : Step(inst_, Opcode::kReshape, shape, {a}, ReshapeAttrs{});
  }
  Instruction* First(Instruction* a, int64_t d, int64_t limit) {
    if (a->shape().dim(d) == limit) return a;
    SliceRanges ranges;
    for (const int64_t size : a->shape().dims()) ranges.dims.push_back({0, size, 1});
    ranges.dims[d].limit = limit;
    Shape shape = a->shape();
    shape.SetDim(d, limit);
    return Step(inst_, Opcode::kSlice, shape, {a}, SliceAttrs{ranges});
  }
  Instruction* State(int64_t i) {
    Instruction& state = inst_.operand(0);
    return Reshape(
        Step(inst_, Opcode::kSlice, state.shape().WithDims({1}), {&state}, SliceAttrs{SliceRanges{{{i, i + 1, 1}}}}),
        {});
  }
  Instruction* Blocks(int64_t count) {
    blocks_ = static_cast<uint64_t>(count);
    return Step(inst_, Opcode::kIota, Shape(PrimitiveType::kU64, {count}), {}, IotaAttrs{0});
  }
  // [blocks] each => [blocks / inner, words, inner]
  Instruction* Interleave(const Words& words, int64_t inner) {
    Words columns;
    const int64_t outer = static_cast<int64_t>(blocks_) / inner;
    for (Instruction* word : words) columns.push_back(Reshape(word, {outer, 1, inner}));
    const Shape shape(words[0]->shape().type(), {outer, std::ssize(words), inner});
    return Step(inst_, Opcode::kConcatenate, shape, columns, OneDimensionAttrs{{1}});
  }

  Words ThreeFry(Instruction* key, Instruction* counter) {
    Instruction *const k0 = Low(key), *const k1 = High(key);
    Instruction* const keys[] = {k0, k1, Xor(Xor(Like(k0, 0x1BD11BDA), k0), k1)};
    const Shape& shape = counter->shape();
    Instruction *x0 = Add(Low(counter), Widen(k0, shape)), *x1 = Add(High(counter), Widen(k1, shape));
    constexpr uint64_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    for (uint64_t group = 0; group < 5; ++group) {
      for (const uint64_t rotation : kRotations[group % 2]) {
        x0 = Add(x0, x1);
        x1 = Xor(RotateLeft(x1, rotation), x0);
      }
      x0 = Add(x0, Widen(keys[(group + 1) % 3], shape));
      Instruction* const tweaked = Add(keys[(group + 2) % 3], Like(k0, group + 1));
      x1 = Add(x1, Widen(tweaked, shape));
    }
    return {x0, x1};
  }

  Words Philox(Instruction* key, Instruction* low, Instruction* high) {
    Instruction *k0 = Low(key), *k1 = High(key);
    const Shape& shape = low->shape();
    Words x = {Low(low), High(low), Low(high), High(high)};
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        k0 = Add(k0, Like(k0, 0x9E3779B9));
        k1 = Add(k1, Like(k1, 0xBB67AE85));
      }
      const auto product = [&](Instruction* word, uint64_t factor) {
        Instruction* const wide = As(word, PrimitiveType::kU64);
        return Binary(Opcode::kMultiply, wide, Like(wide, factor));
      };
      Instruction *const p0 = product(x[0], 0xD2511F53), *const p1 = product(x[2], 0xCD9E8D57);
      x = {Xor(Xor(High(p1), x[1]), Widen(k0, shape)), Low(p1), Xor(Xor(High(p0), x[3]), Widen(k1, shape)), Low(p0)};
    }
    return x;
  }

  // A 64-bit element takes both words of a block. For narrower elements, the words go to an even and the next odd index
  // along the first dimension of even size, otherwise the largest dimension.
  Instruction* ThreeFryBits(Instruction* key, Instruction* counter) {
    const auto blocks = [&](int64_t count) {
      Instruction* const at = Blocks(count);
      return ThreeFry(key, Add(Widen(counter, at->shape()), at));
    };
    if (BitWidth(bits_.type()) == 64) {
      const Words words = blocks(bits_.NumElements());
      return Wide(words[1], words[0]);
    }
    std::vector<int64_t> dims(bits_.dims().begin(), bits_.dims().end());
    if (dims.empty()) dims.push_back(1);
    auto split = std::ranges::find_if(dims, [](int64_t dim) { return dim % 2 == 0; });
    if (split == dims.end()) split = std::ranges::max_element(dims);
    int64_t inner = 1, outer = 1;
    for (auto d = dims.begin(); d != dims.end(); ++d) (d < split ? outer : inner) *= d == split ? 1 : *d;
    const int64_t half = (*split + 1) / 2;
    const Words words = blocks(outer * half * inner);
    return First(Reshape(Interleave(words, inner), {outer, 2 * half, inner}), 1, *split);
  }

  // A block has four words, or two 64-bit elements.
  Instruction* PhiloxBits(Instruction* key, Instruction* low, Instruction* high) {
    const int64_t count = bits_.NumElements(), in_block = BitWidth(bits_.type()) == 64 ? 2 : 4;
    Instruction* const at = Blocks((count + in_block - 1) / in_block);
    Instruction* const start = Widen(low, at->shape());
    Instruction* const counter = Add(start, at);
    Words words = Philox(key, counter, Add(Widen(high, at->shape()), Carry(counter, start)));
    if (in_block == 2) words = {Wide(words[1], words[0]), Wide(words[3], words[2])};
    return First(Reshape(Interleave(words, 1), {static_cast<int64_t>(blocks_) * in_block}), 0, count);
  }

  Instruction* AsType(Instruction* words) {
    const PrimitiveType type = bits_.type();
    const int width = BitWidth(type);
    // Conversion to a narrower integer keeps the low bits.
    const PrimitiveType bits = width < 8     ? type
                               : width == 8  ? PrimitiveType::kU8
                               : width == 16 ? PrimitiveType::kU16
                               : width == 32 ? PrimitiveType::kU32
                                             : PrimitiveType::kU64;
    Instruction* const narrow = Reshape(As(words, bits), {bits_.dims().begin(), bits_.dims().end()});
    return bits == type ? narrow : Step(inst_, Opcode::kBitcastConvert, bits_, {narrow});
  }

  Instruction& inst_;
  const Shape bits_;
  uint64_t blocks_ = 0;
};

// The algorithm DEFAULT is philox.
Result<Instruction*> ExpandGenerator(Instruction& inst, const PassContext&) {
  const Shape& state = inst.operand(0).shape();
  if (!inst.shape().IsTuple() || inst.shape().elements().size() != 2) return nullptr;
  const Shape& bits = inst.shape().element(1);
  const bool threefry = inst.attrs<RngBitGeneratorAttrs>().algorithm == RandomAlgorithm::kThreeFry;
  if (state.type() != PrimitiveType::kU64 || state.rank() != 1 || state != inst.shape().element(0)) return nullptr;
  if (state.dim(0) != 2 && (threefry || state.dim(0) != 3)) return nullptr;
  const bool has_bits = IsInteger(bits.type()) || (IsFloat(bits.type()) && BitWidth(bits.type()) >= 8);
  if (!has_bits || bits.HasDynamicDims() || bits.NumElements() == 0) return nullptr;
  return Expansion(inst).Run();
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"X.rng.1", Opcode::kRngBitGenerator, ExpandGenerator, Preserves::kExact, "rng-bit-generator(s) => threefry 2x32 or philox 4x32 as arithmetic"},
};
// clang-format on

}  // namespace

std::span<const Rule> BitGeneratorRules() { return kRules; }

Result<bool> ExpandBitGenerators(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
