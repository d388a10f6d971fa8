// reduce: folds elements into accumulators in row-major order of the reduced indices: docs/ops.md#accumulation.
//
// Adjacent accumulators ("lanes") go through the reduced indices together. Loops are vectorised across results, and
// each result is summed in order.
//
// Some reductions do not depend on the order, or only in the last bits of an f64 that is then rounded. For these, a
// long run goes to several accumulators, and if there are few results, threads share the reduced elements in pieces.
// The shape alone determines the pieces. Sums of f64 and products of floats round at each step, so they stay in order.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/ops/scalar_body.h"
#include "interp/strided.h"

namespace hlo {
namespace {

// Dimensions of the operand. Neighbours are merged if all are kept or all reduced, and sizes of 1 removed. `lanes` is
// the innermost kept dimension and `run` the innermost reduced one.
struct Plan {
  std::vector<int64_t> kept, kept_strides;        // All but `lanes`.
  std::vector<int64_t> reduced, reduced_strides;  // All but `run`.
  int64_t lanes = 1, lane_stride = 0;
  int64_t run = 1, run_stride = 0;

  Plan(const Shape& operand, std::span<const int64_t> dimensions) {
    const std::vector<int64_t> strides = RowMajorStrides(operand.dims());
    int before = -1;  // Kind of the previous dimension: 0 kept, 1 reduced.
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (operand.dim(d) == 1) continue;
      const bool is_reduced = std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
      auto& sizes = is_reduced ? reduced : kept;
      auto& into = is_reduced ? reduced_strides : kept_strides;
      if (before == static_cast<int>(is_reduced)) {
        sizes.back() *= operand.dim(d);
        into.back() = strides[d];
      } else {
        sizes.push_back(operand.dim(d));
        into.push_back(strides[d]);
      }
      before = is_reduced;
    }
    TakeLast(kept, kept_strides, lanes, lane_stride);
    TakeLast(reduced, reduced_strides, run, run_stride);
  }

  static void TakeLast(std::vector<int64_t>& sizes, std::vector<int64_t>& strides, int64_t& size, int64_t& stride) {
    if (sizes.empty()) return;
    size = sizes.back();
    stride = strides.back();
    sizes.pop_back();
    strides.pop_back();
  }

  int64_t Reductions() const { return Product(reduced) * run; }
  int64_t Results() const { return Product(kept) * lanes; }

  // Number of pieces of the outermost reduced dimension: more than 1 for few blocks of `most` results. A piece has at
  // least 2^15 steps, and 4096 elements of a contiguous run.
  int64_t Pieces(int64_t most) const {
    const int64_t blocks = Product(kept) * ((lanes + most - 1) / most), steps = std::min(lanes, most) * Reductions();
    int64_t longest = reduced.empty() ? run : reduced[0];
    if (reduced.empty() && run_stride == 1) longest >>= 12;
    return std::max<int64_t>(1, std::min({64 / blocks, steps >> 15, longest}));
  }

  std::pair<Plan, int64_t> Piece(int64_t piece, int64_t pieces) const {
    Plan part = *this;
    int64_t& size = reduced.empty() ? part.run : part.reduced[0];
    const int64_t begin = piece * size / pieces, end = (piece + 1) * size / pieces;
    size = end - begin;
    return {std::move(part), begin * (reduced.empty() ? run_stride : reduced_strides[0])};
  }

  // Calls f(first result, lanes, first element) for blocks of at most `most` results.
  template <class F>
  void ForEachBlock(int64_t most, F&& f) const {
    const int64_t blocks = (lanes + most - 1) / most, rows = Product(kept);
    const int64_t work = std::min(lanes, most) * std::max<int64_t>(1, Reductions());
    ParallelFor(rows * blocks, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, work)),
                [&](int64_t begin, int64_t end) {
                  IndexWalk walk(kept);
                  for (int64_t i = begin; i < end; ++i) {
                    walk.Seek(i / blocks);
                    const int64_t lane = i % blocks * most;
                    f(i / blocks * lanes + lane, std::min(most, lanes - lane),
                      Dot(walk.index(), kept_strides) + lane * lane_stride);
                  }
                });
  }

  template <class F>
  void ForEachRun(F&& f) const {
    for (IndexWalk walk(reduced); walk.Valid(); walk.Next()) f(Dot(walk.index(), reduced_strides));
  }
};

// ---- Bodies of one op, applied to numbers in memory -------------------------------------------------------------

constexpr int64_t kLongRun = 32;

// accumulator = F(accumulator, x) over a run. Lanes that are not contiguous go in eight chains, or one by one if F has
// a function for long runs.
template <class T, class A, class F>
void FoldRuns(const Plan& plan, const T* x, A* accumulators, int64_t lanes, F f) {
  plan.ForEachRun([&](int64_t offset) {
    const T* from = x + offset;
    if (plan.lane_stride == 1 || plan.run == 1) {
      for (int64_t r = 0; r < plan.run; ++r, from += plan.run_stride) {
        if (plan.lane_stride == 1) {
#pragma GCC ivdep
          for (int64_t l = 0; l < lanes; ++l) accumulators[l] = f(accumulators[l], from[l]);
        } else {
          for (int64_t l = 0; l < lanes; ++l) accumulators[l] = f(accumulators[l], from[l * plan.lane_stride]);
        }
      }
      return;
    }
    if constexpr (requires { f.Run(accumulators[0], from, plan.run); }) {
      if (plan.run_stride == 1 && plan.run >= kLongRun) {
        for (int64_t l = 0; l < lanes; ++l)
          accumulators[l] = f.Run(accumulators[l], from + l * plan.lane_stride, plan.run);
        return;
      }
    }
    constexpr int64_t kChains = 8;
    int64_t l = 0;
    for (; l + kChains <= lanes; l += kChains) {
      A chain[kChains];
      std::copy_n(accumulators + l, kChains, chain);
      const T* row = from + l * plan.lane_stride;
      for (int64_t r = 0; r < plan.run; ++r, row += plan.run_stride) {
        for (int64_t k = 0; k < kChains; ++k) chain[k] = f(chain[k], row[k * plan.lane_stride]);
      }
      std::copy_n(chain, kChains, accumulators + l);
    }
    for (; l < lanes; ++l) {
      const T* row = from + l * plan.lane_stride;
      A accumulator = accumulators[l];
      for (int64_t r = 0; r < plan.run; ++r, row += plan.run_stride) accumulator = f(accumulator, *row);
      accumulators[l] = accumulator;
    }
  });
}

constexpr int64_t kBlock = 1024;

// F may fold in any order if it has an identity.
template <class F, class A>
concept AnyOrder = requires(F f, A init) { A{f.Identity(init)}; };

// Calls fold(plan, first element, accumulators, lanes) and finish(first result, accumulators, lanes) for all results.
template <class A, class F, class Fold, class Finish>
void FoldAll(const Plan& plan, A init, F f, Fold fold, Finish finish) {
  if constexpr (AnyOrder<F, A>) {
    const int64_t pieces = plan.Pieces(kBlock), results = plan.Results();
    if (pieces > 1) {
      std::vector<A> partial(pieces * results);
      ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) {
          const auto [part, offset] = plan.Piece(piece, pieces);
          A* const accumulators = partial.data() + piece * results;
          std::fill_n(accumulators, results, piece == 0 ? init : f.Identity(init));
          part.ForEachBlock(kBlock, [&, &part = part, offset = offset](int64_t first, int64_t lanes, int64_t at) {
            fold(part, offset + at, accumulators + first, lanes);
          });
        }
      });
      for (int64_t piece = 1; piece < pieces; ++piece) {
        for (int64_t i = 0; i < results; ++i) partial[i] = f(partial[i], partial[piece * results + i]);
      }
      for (int64_t first = 0; first < results; first += kBlock)
        finish(first, partial.data() + first, std::min(kBlock, results - first));
      return;
    }
  }
  plan.ForEachBlock(kBlock, [&](int64_t first, int64_t lanes, int64_t at) {
    A accumulators[kBlock];
    std::fill_n(accumulators, lanes, init);
    fold(plan, at, accumulators, lanes);
    finish(first, accumulators, lanes);
  });
}

template <class T, class A, class F>
Literal FoldInto(const Instruction& inst, const Plan& plan, const Literal& x, A init, F f) {
  Literal result = Literal::Uninitialized(Shape(x.shape().type(), inst.shape().dims(), inst.shape().layout()));
  T* const out = reinterpret_cast<T*>(result.mutable_raw());
  const T* const in = reinterpret_cast<const T*>(x.raw());
  FoldAll(
      plan, init, f,
      [&](const Plan& part, int64_t at, A* accumulators, int64_t lanes) {
        FoldRuns(part, in + at, accumulators, lanes, f);
      },
      [&](int64_t first, const A* accumulators, int64_t lanes) {
        for (int64_t l = 0; l < lanes; ++l) out[first + l] = static_cast<T>(accumulators[l]);
      });
  return result;
}

struct SumInDouble {
  static double Identity(double) { return -0.0; }
  template <class T>
  double operator()(double a, T v) const {
    return a + static_cast<double>(v);
  }

  template <class T>
  double Run(double a, const T* x, int64_t count) const {
    constexpr int64_t kLanes = 16;
    double sums[kLanes];
    std::fill_n(sums, kLanes, Identity(0));
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) sums[l] += static_cast<double>(x[i + l]);
    }
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
    }
    a += sums[0];
    for (; i < count; ++i) a += static_cast<double>(x[i]);
    return a;
  }
};

// Widens elements narrower than f32, and rounds results once.
template <class A, class F>
Literal FoldNarrow(const Instruction& inst, const Plan& plan, const Literal& x, A init, F f) {
  const PrimitiveType type = x.shape().type();
  const Loader load = LoaderOf(type);
  const int64_t bytes = ByteWidth(type);
  const bool by_runs = plan.run_stride == 1 && plan.lane_stride != 1 && plan.run >= kLongRun;
  Literal wide;
  if (!by_runs) {
    wide = Literal::Uninitialized(x.shape().WithType(PrimitiveType::kF32));
    auto* const to = reinterpret_cast<float*>(wide.mutable_raw());
    ParallelFor(x.shape().NumElements(), 1 << 15,
                [&](int64_t begin, int64_t end) { load(x.raw() + begin * bytes, to + begin, end - begin); });
  }
  Literal results = Literal::Uninitialized(inst.shape());
  const Storer store = StorerFromDouble(type);
  const auto* const in = reinterpret_cast<const float*>(wide.raw());
  std::byte* const out = results.mutable_raw();
  FoldAll(
      plan, init, f,
      [&](const Plan& part, int64_t at, A* accumulators, int64_t lanes) {
        if (!by_runs) return FoldRuns(part, in + at, accumulators, lanes, f);
        part.ForEachRun([&](int64_t offset) {
          float run[2048];
          for (int64_t l = 0; l < lanes; ++l) {
            for (int64_t r = 0; r < part.run; r += std::ssize(run)) {
              const int64_t count = std::min(part.run - r, std::ssize(run));
              load(x.raw() + (at + offset + l * part.lane_stride + r) * bytes, run, count);
              accumulators[l] = f.Run(accumulators[l], run, count);
            }
          }
        });
      },
      [&](int64_t first, const A* accumulators, int64_t lanes) {
        double rounded[kBlock];
        std::copy_n(accumulators, lanes, rounded);
        store(rounded, out + first * bytes, lanes);
      });
  return results;
}

template <class T, class F>
Literal FoldSame(const Instruction& inst, const Plan& plan, const Literal& x, const Literal& init, F f) {
  return FoldInto<T, T>(inst, plan, x, init.data<T>()[0], f);
}

template <class F, uint32_t kIdentity>
struct Wrapping {
  template <class T>
  static T Identity(T) {
    static_assert(sizeof(T) <= 4);
    return static_cast<T>(kIdentity);
  }
  template <class T>
  T operator()(T a, T v) const {
    return static_cast<T>(F()(a, v));
  }
};

template <bool kMax>
struct Extreme {
  template <class T>
  static T Identity(T init) {
    return init;
  }
  template <class T>
  T operator()(T a, T v) const {
    if constexpr (std::is_integral_v<T>) return (kMax ? a > v : a < v) ? a : v;
    else {
      using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
      const Bits ab = std::bit_cast<Bits>(a), vb = std::bit_cast<Bits>(v);
      const T equal = std::bit_cast<T>(kMax ? ab & vb : ab | vb);  // Orders zeros like elementwise maximum.
      const T ordered = (kMax ? a > v : a < v) ? a : (kMax ? v > a : v < a) ? v : equal;
      return a != a ? a : v != v ? v : ordered;
    }
  }

  // Folds in any order. Floats are folded again in order if the result is 0 or there are NaNs.
  template <class T>
  T Run(T a, const T* x, int64_t count) const {
    constexpr int64_t kLanes = 128 / sizeof(T);
    T best[kLanes];
    std::fill_n(best, kLanes, a);
    int64_t i = 0;
    T odd = 0, odds[kLanes] = {};  // NaN if an element is NaN.
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T v = x[i + l];
        best[l] = (kMax ? v > best[l] : v < best[l]) ? v : best[l];
        if constexpr (!std::is_integral_v<T>) odds[l] = v != v ? v : odds[l];
      }
    }
    T result = a;
    for (int64_t l = 0; l < kLanes; ++l) {
      result = (*this)(result, best[l]);
      odd += odds[l];
    }
    for (; i < count; ++i) result = (*this)(result, x[i]);
    if (std::is_integral_v<T> || (odd == odd && result == result && result != 0)) return result;
    for (i = 0; i < count; ++i) a = (*this)(a, x[i]);
    return a;
  }
};

// Returns nullopt for a type or op without a loop.
std::optional<Literal> ReduceByOneOp(const Instruction& inst, const Plan& plan, Opcode op, const Literal& x,
                                     const Literal& init) {
  const PrimitiveType type = x.shape().type();
  if (op == Opcode::kAdd && IsFloat(type)) {
    const double first = init.GetDouble(0);
    if (type == PrimitiveType::kF32) return FoldInto<float, double>(inst, plan, x, first, SumInDouble());
    if (type == PrimitiveType::kF64) return FoldSame<double>(inst, plan, x, init, std::plus<double>());
    return FoldNarrow(inst, plan, x, first, SumInDouble());
  }
  if (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16) {
    const auto first = static_cast<float>(init.GetDouble(0));
    if (op == Opcode::kMaximum) return FoldNarrow(inst, plan, x, first, Extreme<true>());
    if (op == Opcode::kMinimum) return FoldNarrow(inst, plan, x, first, Extreme<false>());
  }
  const auto extreme = [&]<class T>() -> std::optional<Literal> {
    if (op == Opcode::kMaximum) return FoldSame<T>(inst, plan, x, init, Extreme<true>());
    if (op == Opcode::kMinimum) return FoldSame<T>(inst, plan, x, init, Extreme<false>());
    return std::nullopt;
  };
  const auto wrapping = [&]<class T>() -> std::optional<Literal> {
    if (op == Opcode::kAdd) return FoldSame<T>(inst, plan, x, init, Wrapping<std::plus<>, 0>());
    if (op == Opcode::kMultiply) return FoldSame<T>(inst, plan, x, init, Wrapping<std::multiplies<>, 1>());
    if (op == Opcode::kAnd) return FoldSame<T>(inst, plan, x, init, Wrapping<std::bit_and<>, ~0u>());
    if (op == Opcode::kOr) return FoldSame<T>(inst, plan, x, init, Wrapping<std::bit_or<>, 0>());
    if (op == Opcode::kXor) return FoldSame<T>(inst, plan, x, init, Wrapping<std::bit_xor<>, 0>());
    return std::nullopt;
  };
  switch (type) {
    case PrimitiveType::kF32:
      if (op == Opcode::kMultiply) return FoldSame<float>(inst, plan, x, init, std::multiplies<float>());
      return extreme.operator()<float>();
    case PrimitiveType::kF64:
      if (op == Opcode::kMultiply) return FoldSame<double>(inst, plan, x, init, std::multiplies<double>());
      return extreme.operator()<double>();
    case PrimitiveType::kS32:
      if (auto result = extreme.operator()<int32_t>()) return result;
      return wrapping.operator()<uint32_t>();
    case PrimitiveType::kU32:
      if (auto result = extreme.operator()<uint32_t>()) return result;
      return wrapping.operator()<uint32_t>();
    case PrimitiveType::kPred:
      if (op == Opcode::kAnd || op == Opcode::kOr || op == Opcode::kXor) return wrapping.operator()<uint8_t>();
      return std::nullopt;
    default: return std::nullopt;
  }
}

Result<Literal> ReduceByBody(const Instruction& inst, const Plan& plan, const ScalarBody& body,
                             std::span<const Literal> operands) {
  const size_t arrays = operands.size() / 2;
  const auto inputs = operands.first(arrays), inits = operands.subspan(arrays);
  std::vector<Literal> results;
  std::vector<int64_t> bytes;
  std::vector<std::byte*> out;
  for (size_t i = 0; i < arrays; ++i) {
    results.push_back(Literal::Uninitialized(inst.shape().IsTuple() ? inst.shape().element(i) : inst.shape()));
    bytes.push_back(ByteWidth(inits[i].shape().type()));
  }
  for (Literal& result : results) out.push_back(result.mutable_raw());
  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status status;
  plan.ForEachBlock(ScalarBody::kLanes, [&](int64_t first, int64_t lanes, int64_t at) {
    ScalarBody::Scratch scratch;
    std::vector<std::byte> values(arrays * ScalarBody::kLanes * 16);
    std::vector<const std::byte*> in(2 * arrays);
    std::vector<std::byte*> accumulators(arrays);
    for (size_t i = 0; i < arrays; ++i) {
      in[i] = accumulators[i] = out[i] + first * bytes[i];
      Fill(inits[i].raw(), bytes[i], accumulators[i], lanes);
    }
    plan.ForEachRun([&](int64_t offset) {
      for (int64_t r = 0; r < plan.run && !failed.load(std::memory_order_relaxed); ++r) {
        for (size_t i = 0; i < arrays; ++i) {
          const std::byte* from = inputs[i].raw() + (at + offset + r * plan.run_stride) * bytes[i];
          in[arrays + i] = from;
          if (plan.lane_stride == 1 || lanes == 1) continue;
          std::byte* packed = values.data() + i * ScalarBody::kLanes * 16;
          GatherStrided(from, plan.lane_stride, bytes[i], packed, lanes);
          in[arrays + i] = packed;
        }
        if (Status done = body.Run(in.data(), accumulators.data(), lanes, scratch); !done) {
          const std::lock_guard lock(mutex);
          status = std::move(done);
          failed = true;
        }
      }
    });
  });
  TRY(std::move(status));
  return inst.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace

Result<Literal> EvalReduce(Evaluation& e) {
  const ReduceAttrs& attrs = e.inst.attrs<ReduceAttrs>();
  const ScalarBody& body = *TRY(e.session.Body(*attrs.to_apply));
  const size_t arrays = e.operands.size() / 2;
  const auto inputs = e.operands.first(arrays), inits = e.operands.subspan(arrays);
  TRY(CheckBody(e.inst, body, arrays, inits, inputs));
  if (inputs[0].shape().NumElements() == 0) {
    std::vector<Literal> results;
    for (size_t i = 0; i < arrays; ++i) {
      Literal result = Literal::Uninitialized(e.inst.shape().IsTuple() ? e.inst.shape().element(i) : e.inst.shape());
      Fill(inits[i].raw(), ByteWidth(inits[i].shape().type()), result.mutable_raw(), result.shape().NumElements());
      results.push_back(std::move(result));
    }
    return e.inst.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
  }
  const Plan plan(inputs[0].shape(), attrs.dimensions);
  if (arrays == 1 && e.inst.shape().IsArray()) {
    if (auto result = ReduceByOneOp(e.inst, plan, body.BinaryOpcode(), inputs[0], inits[0])) return std::move(*result);
  }
  return ReduceByBody(e.inst, plan, body, e.operands);
}

}  // namespace hlo
