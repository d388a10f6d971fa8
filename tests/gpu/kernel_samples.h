// Kernels with every construct of the builder, for tests of the lowerings.
#ifndef HLO_TESTS_GPU_KERNEL_SAMPLES_H_
#define HLO_TESTS_GPU_KERNEL_SAMPLES_H_

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gpu/kernel/builder.h"
#include "gpu/kernel/math.h"
#include "tests/gpu/kernel_matrix_samples.h"

namespace hlo::kernel {

inline Value Sum(Value a, Value b) { return a + b; }

inline Value Gelu(Value x) { return x * 0.5 * (Tanh((x + x * x * x * 0.044715) * 0.7978845608) + 1.0); }

inline Kernel Elementwise(std::string name, Type type, int64_t count, int width,
                          const std::function<Value(Value, Value)>& function) {
  const int64_t per_block = 256 * width;
  KernelBuilder k(std::move(name), CeilDiv(count, per_block), 256);
  const Array x = k.Input("x", type, count), y = k.Input("y", type, count), z = k.Output("z", type, count);
  const Value base = k.block() * per_block;
  k.SetSource("fusion.1");
  k.Tile(width, count - base, [&](Value i) { z.Store(base + i, function(x.Load(base + i), y.Load(base + i))); });
  return std::move(k).Build();
}

// Reverses rows of 256 elements through shared memory while the next row is copied asynchronously. `waits` is false for
// a faulty kernel that does not wait for the copy.
inline Kernel AsyncRows(Type type, bool waits = true) {
  constexpr int64_t kRows = 4, kColumns = 256;
  const int64_t each = 16 / Bytes(type);  // The elements of one copy.
  KernelBuilder k("async_rows", 3, 128);
  const Array x = k.Input("x", type, 3 * kRows * kColumns), y = k.Output("y", type, 3 * kRows * kColumns);
  const Array rows = k.Shared("rows", type, 2 * kColumns);
  k.SetSource("copy.3");
  const Value first = k.block() * kRows;
  const auto fetch = [&](Value row) {
    k.Phase([&] {
      k.If(k.thread() < kColumns / each, [&] {
        const Value column = k.thread() * each;
        k.CopyAsync(rows, row % 2 * kColumns + column, x, (first + row) * kColumns + column);
      });
    });
  };
  fetch(k.Index(0));
  k.CopyWait(1);
  k.Loop(0, kRows, 1, [&](Value row) {
    k.If(row + 1 < kRows, [&] { fetch(row + 1); });
    k.CopyWait(waits ? 1 : 2);
    k.Tile(2,
           [&](Value i) { y.Store((first + row) * kColumns + i, rows.Load(row % 2 * kColumns + (kColumns - 1) - i)); });
  });
  return std::move(k).Build();
}

inline Kernel RowReduce(int64_t rows, int64_t columns, int width, Type type = Type::kF32) {
  KernelBuilder k("row_sum", rows, 256);
  const Array x = k.Input("x", type, rows * columns);
  const Array y = k.Output("y", type, rows);
  const Slot sum = k.MakeSlot(Type::kF32, width);
  k.Fill(sum, 0.0);
  const Value row = k.block() * columns;
  k.SetSource("reduce.2");
  k.Loop(0, columns, 256 * width, [&](Value begin) {
    k.Tile(width, columns - begin, [&](Value i) { sum.Set(sum.Get() + Convert(x.Load(row + begin + i), Type::kF32)); });
  });
  y.Store(k.block(), Convert(k.BlockReduce(sum, Sum), type));
  return std::move(k).Build();
}

inline Kernel WarpRowReduce(int64_t rows, int64_t columns) {
  KernelBuilder k("warp_row_sum", CeilDiv(rows, 4), 128);
  const Array x = k.Input("x", Type::kF32, rows * columns), y = k.Output("y", Type::kF32, rows);
  k.Warps([&] {
    const Value row = k.block() * 4 + k.warp();
    k.If(row < rows, [&] {
      const Slot sum = k.MakeSlot(Type::kF32, 4);
      k.Fill(sum, 0.0);
      k.Loop(0, columns, 128, [&](Value begin) {
        k.Tile(4, columns - begin, [&](Value i) { sum.Set(sum.Get() + x.Load(row * columns + begin + i)); });
      });
      y.Store(row, k.WarpReduce(sum, Sum));
    });
  });
  return std::move(k).Build();
}

inline Kernel BranchyReduce() {
  KernelBuilder k("branchy_reduce", 2, 64);
  const Array x = k.Input("x", Type::kF32, 128), y = k.Output("y", Type::kF32, 2 + 128);
  const auto combine = [](Value a, Value b) { return Sin(a * 3.0) + (b % 2.0); };
  const Slot value = k.MakeSlot(Type::kF32);
  const Value base = k.block() * 64;
  k.Tile(1, [&](Value i) { value.Set(x.Load(base + i)); });
  y.Store(k.block(), k.BlockReduce(value, combine));
  k.Warps([&] { k.GroupReduce(std::array{value}, 4, Lift(combine)); });
  k.Tile(1, [&](Value i) { y.Store(base + i + 2, value.Get()); });
  return std::move(k).Build();
}

// The largest element and its first index: a reduction of pairs that is not commutative.
inline Kernel ArgMax(int64_t rows, int64_t columns) {
  KernelBuilder k("arg_max", rows, 128);
  const Array x = k.Input("x", Type::kF32, rows * columns);
  const Array value = k.Output("value", Type::kF32, rows), index = k.Output("index", Type::kS32, rows);
  const Slot best = k.MakeSlot(Type::kF32), at = k.MakeSlot(Type::kS32);
  const auto later_if_larger = [](std::span<const Value> a, std::span<const Value> b) {
    const Value take = b[0] > a[0];
    return std::vector<Value>{Select(take, b[0], a[0]), Select(take, b[1], a[1])};
  };
  const int64_t per_thread = CeilDiv(columns, 128);
  k.Phase([&] {  // Each thread has contiguous columns, so that neighbours are combined in order.
    const Variable most = k.MakeVariable(k.Constant(Type::kF32, -1e38)),
                   where = k.MakeVariable(k.Constant(Type::kS32, 0));
    k.Loop(0, per_thread, 1, [&](Value j) {
      const Value column = k.thread() * per_thread + j;
      k.If(column < columns, [&] {
        const Value candidate = x.Load(k.block() * columns + column);
        const Value take = candidate > most.Get();
        where.Set(Select(take, Convert(column, Type::kS32), where.Get()));
        most.Set(Select(take, candidate, most.Get()));
      });
    });
    best.Set(most.Get());
    at.Set(where.Get());
  });
  const std::vector<Value> result = k.BlockReduce(std::array{best, at}, later_if_larger);
  value.Store(k.block(), result[0]);
  index.Store(k.block(), result[1]);
  return std::move(k).Build();
}

inline Kernel ColumnReduce(int64_t rows, int64_t columns) {
  KernelBuilder k("column_sum", CeilDiv(columns, 128), 256);
  const Array x = k.Input("x", Type::kF32, rows * columns), y = k.Output("y", Type::kF32, columns);
  const Array partial = k.Shared("partial", Type::kF32, 8 * 128);
  const Value column0 = k.block() * 128;
  k.Warps([&] {
    const Slot sum = k.MakeSlot(Type::kF32, 4);
    k.Fill(sum, 0.0);
    k.Loop(k.warp(), k.Index(rows), 8, [&](Value row) {
      k.Tile(4, columns - column0, [&](Value i) { sum.Set(sum.Get() + x.Load(row * columns + column0 + i)); });
    });
    k.Tile(4, [&](Value i) { partial.Store(k.warp() * 128 + i, sum.Get()); });
  });
  k.Tile(1, Min(columns - column0, k.Index(128)), [&](Value i) {
    Value sum = partial.Load(i);
    for (int warp = 1; warp < 8; ++warp) sum = sum + partial.Load(i + 128 * warp);
    y.Store(column0 + i, sum);
  });
  return std::move(k).Build();
}

inline Kernel Transpose(int64_t rows, int64_t columns, Type type = Type::kF32) {
  const int64_t across = CeilDiv(columns, 32);
  KernelBuilder k("transpose", CeilDiv(rows, 32) * across, 256);
  const Array x = k.Input("x", type, rows * columns), y = k.Output("y", type, rows * columns);
  const Array tile = k.SharedTile("tile", type, 32, 32);
  const Value row0 = k.block() / across * 32, column0 = k.block() % across * 32;
  k.Warps([&] {
    k.Loop(
        0, 32, 8,
        [&](Value first) {
          const Value row = first + k.warp();
          k.If(row0 + row < rows, [&] {
            k.Tile(1, columns - column0,
                   [&](Value lane) { tile.StoreAt(row, lane, x.Load((row0 + row) * columns + column0 + lane)); });
          });
        },
        0);
  });
  k.TransposeTile(tile, k.Index(32), k.Index(32));
  k.Warps([&] {
    k.Loop(
        0, 32, 8,
        [&](Value first) {
          const Value column = first + k.warp();
          k.If(column0 + column < columns, [&] {
            k.Tile(1, rows - row0, [&](Value lane) {
              y.Store((column0 + column) * rows + row0 + lane, tile.LoadTransposed(lane, column));
            });
          });
        },
        0);
  });
  return std::move(k).Build();
}

// The softmax of rows of up to 1024 elements. Values stay in slots between two reductions.
inline Kernel Softmax(int64_t rows, int64_t columns) {
  KernelBuilder k("softmax", rows, 256);
  const Array x = k.Input("x", Type::kBF16, rows * columns), y = k.Output("y", Type::kBF16, rows * columns);
  const Value row = k.block() * columns;
  const Value none = k.Constant(Type::kF32, -std::numeric_limits<double>::infinity());
  const Slot value = k.MakeSlot(Type::kF32, 4, none);
  k.Tile(4, k.Index(columns), [&](Value i) { value.Set(Convert(x.Load(row + i), Type::kF32)); });
  const Slot copy = k.MakeSlot(Type::kF32, 4);
  k.Tile(4, [&](Value) { copy.Set(value.Get()); });
  const Value most = k.BlockReduce(copy, Max);
  k.Tile(4, [&](Value) {
    const Value e = Exp(value.Get() - most);
    value.Set(e);
    copy.Set(e);
  });
  const Value total = k.BlockReduce(copy, Sum);
  k.Tile(4, k.Index(columns), [&](Value i) { y.Store(row + i, Convert(value.Get() / total, Type::kBF16)); });
  return std::move(k).Build();
}

inline Kernel CumulativeSum(int64_t rows, int64_t columns) {
  KernelBuilder k("cumulative_sum", rows, 128);
  const Array x = k.Input("x", Type::kS64, rows * columns), y = k.Output("y", Type::kS64, rows * columns);
  const Variable carry = k.MakeVariable(k.Constant(Type::kS64, 0));
  const auto add = [](std::span<const Value> a, std::span<const Value> b) { return std::vector<Value>{a[0] + b[0]}; };
  k.Loop(0, columns, 128, [&](Value begin) {
    const Slot sum = k.MakeSlot(Type::kS64);
    const Value base = k.block() * columns + begin;
    k.Fill(sum, k.Constant(Type::kS64, 0));
    k.Tile(1, columns - begin, [&](Value i) { sum.Set(x.Load(base + i)); });
    const Value total = k.BlockScan(std::array{sum}, add)[0];
    k.Tile(1, columns - begin, [&](Value i) { y.Store(base + i, carry.Get() + sum.Get()); });
    carry.Set(carry.Get() + total);
  });
  return std::move(k).Build();
}

// Sums over groups of 8 lanes, shuffles of every kind, and a broadcast.
inline Kernel Shuffles() {
  KernelBuilder k("shuffles", 3, 64);
  const Array x = k.Input("x", Type::kF64, 192), y = k.Output("y", Type::kF64, 192 * 6);
  k.Warps([&] {
    const Slot a = k.MakeSlot(Type::kF64), b = k.MakeSlot(Type::kF64), lane = k.MakeSlot(Type::kS32);
    const auto base = [&] { return k.block() * 64 + k.warp() * 32; };
    const auto put = [&](int part, Slot from) {
      const Value at = base() * 6 + 32 * part;
      k.Tile(1, [&](Value i) { y.Store(at + i, from.Get()); });
    };
    const Value at = base();
    k.Tile(1, [&](Value i) { a.Set(x.Load(at + i)); });
    k.Phase([&] { lane.Set(Convert((k.lane() * 7 + 3) % 32, Type::kS32)); });
    k.ShuffleDown(b, a, 3);
    put(0, b);
    k.ShuffleUp(b, a, 5);
    put(1, b);
    k.ShuffleXor(b, a, 6);
    put(2, b);
    k.ShuffleIndexed(b, a, lane);
    put(3, b);
    const Value first = k.WarpBroadcast(a, 9);
    k.Tile(1, [&](Value) { b.Set(a.Get() * first); });
    put(4, b);
    k.GroupReduce(std::array{a}, 8, Lift(Sum));
    put(5, a);
  });
  return std::move(k).Build();
}

// A sum that is divided among blocks. The last block to arrive adds the partial sums.
inline Kernel SplitSum(int64_t count, int64_t blocks) {
  KernelBuilder k("split_sum", blocks, 128);
  const Array x = k.Input("x", Type::kF32, count);
  const Array partial = k.InOut("partial", Type::kF32, blocks), counter = k.InOut("counter", Type::kU32, 1),
              y = k.Output("y", Type::kF32, 1);
  const Slot sum = k.MakeSlot(Type::kF32);
  k.Fill(sum, 0.0);
  const int64_t per_block = CeilDiv(count, blocks);
  const Value begin = k.block() * per_block;
  const Value end = Min(begin + per_block, k.Index(count));
  k.Loop(begin, end, 128,
         [&](Value at) { k.Tile(1, end - at, [&](Value i) { sum.Set(sum.Get() + x.Load(at + i)); }); });
  partial.Store(k.block(), k.BlockReduce(sum, Sum));
  k.If(k.ArriveLast(counter, k.Index(0), blocks), [&] {
    const Variable total = k.MakeVariable(k.Constant(Type::kF32, 0.0));
    k.Loop(0, blocks, 1, [&](Value i) { total.Set(total.Get() + partial.Load(i)); });
    y.Store(int64_t{0}, total.Get());
  });
  return std::move(k).Build();
}

// A window of three over the rows of a matrix, with a table of weights and a loop in the thread body.
inline Kernel Stencil(int64_t rows, int64_t columns) {
  KernelBuilder k("stencil", CeilDiv(rows * columns, 512), 128);
  const Array x = k.Input("x", Type::kF32, rows * columns), y = k.Output("y", Type::kF32, rows * columns);
  // The weights 0.5, 1 and 2.
  const Array weights = k.Table("weights", Type::kF32, {0x3f000000, 0x3f800000, 0x40000000});
  const Value base = k.block() * 512;
  k.Tile(4, rows * columns - base, [&](Value i) {
    const Value at = base + i, row = at / columns, column = at % columns;
    const Variable sum = k.MakeVariable(k.Constant(Type::kF32, 0.0));
    k.Loop(0, 3, 1, [&](Value offset) {
      const Value other = row + offset - 1;
      k.If((other >= 0) & (other < rows),
           [&] { sum.Set(Fma(x.Load(other * columns + column), weights.Load(offset), sum.Get())); });
    });
    y.Store(at, sum.Get());
  });
  return std::move(k).Build();
}

// Masks of the lanes with equal values, for values of few bits and of all bits.
inline Kernel Matches() {
  KernelBuilder k("matches", 2, 64);
  const Array x = k.Input("x", Type::kU8, 128), y = k.Output("y", Type::kU32, 256);
  k.Warps([&] {
    const Slot a = k.MakeSlot(Type::kU32), b = k.MakeSlot(Type::kU32);
    const Value at = k.block() * 64 + k.warp() * 32;
    k.Tile(1, [&](Value i) { a.Set(Convert(x.Load(at + i), Type::kU32)); });
    k.Match(b, a, 3);
    k.Tile(1, [&](Value i) { y.Store(at + i, b.Get()); });
    k.Match(b, a, 32);
    k.Tile(1, [&](Value i) { y.Store(at + 128 + i, b.Get()); });
  });
  return std::move(k).Build();
}

// A histogram by atomic additions in shared memory and then in global memory.
inline Kernel Histogram(int64_t count) {
  KernelBuilder k("histogram", CeilDiv(count, 1024), 128);
  const Array x = k.Input("x", Type::kU8, count);
  const Array bins = k.InOut("bins", Type::kS32, 16);
  const Array local = k.Shared("local", Type::kS32, 16);
  k.Tile(1, k.Index(16), [&](Value i) { local.Store(i, k.Constant(Type::kS32, 0)); });
  const Value base = k.block() * 1024;
  k.Tile(8, count - base, [&](Value i) {
    local.Atomic(AtomicOp::kAdd, Convert(x.Load(base + i) & 15, Type::kIndex), k.Constant(Type::kS32, 1));
  });
  k.Tile(1, k.Index(16), [&](Value i) { bins.Atomic(AtomicOp::kAdd, i, local.Load(i)); });
  return std::move(k).Build();
}

// Each thread changes its own element twice. The second change compares first. It finds the expected value for even
// elements only.
inline Kernel OldValues() {
  KernelBuilder k("old_values", 2, 64);
  const Array x = k.Input("x", Type::kS32, 128), cells = k.InOut("cells", Type::kS32, 128),
              old = k.Output("old", Type::kS32, 128);
  const Value base = k.block() * 64;
  k.Tile(1, k.Index(64), [&](Value i) {
    const Value before = cells.AtomicFetch(AtomicOp::kAdd, base + i, x.Load(base + i));
    const Value expected = before + x.Load(base + i) + Convert(i % 2, Type::kS32);
    old.Store(base + i, before ^ cells.AtomicCompareExchange(base + i, expected, expected * 3));
  });
  return std::move(k).Build();
}

inline Kernel WarpReverse() {
  KernelBuilder k("warp_reverse", 2, 64);
  const Array x = k.Input("x", Type::kF32, 128), y = k.Output("y", Type::kF32, 128);
  const Array shared = k.Shared("shared", Type::kF32, 64);
  k.Warps([&] {
    const Value first = k.warp() * 32, at = k.block() * 64 + first;
    k.Tile(1, [&](Value i) { shared.Store(first + i, x.Load(at + i)); });
    k.Tile(1, [&](Value i) { y.Store(at + i, shared.Load(first + 31 - i)); });
  });
  return std::move(k).Build();
}

// 64 KiB of shared memory are more than a static allocation can have.
inline Kernel LargeShared() {
  KernelBuilder k("large_shared", 2, 256);
  const Array x = k.Input("x", Type::kF32, 2 * 16384), y = k.Output("y", Type::kF32, 2 * 16384);
  const Array first = k.Shared("first", Type::kF32, 8192), second = k.Shared("second", Type::kF32, 8192);
  const Value base = k.block() * 16384;
  k.Loop(0, 8192, 1024, [&](Value at) {
    k.Tile(4, [&](Value i) {
      first.Store(at + i, x.Load(base + at + i));
      second.Store(at + i, x.Load(base + 8192 + at + i));
    });
  });
  k.Loop(0, 8192, 1024, [&](Value at) {
    k.Tile(4, [&](Value i) {
      y.Store(base + at + i, second.Load(8191 - at - i));
      y.Store(base + 8192 + at + i, first.Load(8191 - at - i));
    });
  });
  return std::move(k).Build();
}

inline Kernel SwapPairs(int64_t pairs) {
  KernelBuilder k("swap_pairs", CeilDiv(pairs, 64), 64);
  const Array x = k.Input("x", Type::kBF16, 2 * pairs), y = k.Output("y", Type::kBF16, 2 * pairs);
  const Value base = k.block() * 64;
  k.Phase([&] {
    const Value pair = base + k.thread();
    k.If(pair < pairs, [&] {
      const std::vector<Value> both = x.LoadVector(pair * 2, 2);
      y.StoreVector(pair * 2, std::array{both[1], both[0]});
    });
  });
  return std::move(k).Build();
}

// Adds a row vector to a matrix and divides by a scale for each row. Indices are computed with / and %.
inline Kernel BroadcastAdd(int64_t rows, int64_t columns) {
  KernelBuilder k("broadcast_add", CeilDiv(rows * columns, 2048), 256);
  const Array x = k.Input("x", Type::kF16, rows * columns), bias = k.Input("bias", Type::kF16, columns),
              scale = k.Input("scale", Type::kF16, rows);
  const Array y = k.Output("y", Type::kF16, rows * columns);
  const Value base = k.block() * 2048;
  k.Tile(8, rows * columns - base, [&](Value i) {
    const Value at = base + i;
    y.Store(at, (x.Load(at) + bias.Load(at % columns)) / scale.Load(at / columns));
  });
  return std::move(k).Build();
}

// Rows are shifted by a number of elements that is coprime to their sizes. Guards precede the accesses, and dividends
// begin below zero.
inline Kernel Shifted(int64_t count) {
  KernelBuilder k("shifted", CeilDiv(count, 512), 128);
  const Array x = k.Input("x", Type::kF32, count), y = k.Output("y", Type::kF32, count);
  const Value base = k.block() * 512;
  k.Tile(4, count - base, [&](Value i) {
    const Value from = base + i - 37;
    const Variable value = k.MakeVariable(k.Constant(Type::kF32, -1.0));
    k.If(from >= 0, [&] {
      // `mirrored` reverses the columns of rows of 20. `other` is an index with nested quotients.
      const Value row = from / 20, column = from % 20;
      const Value mirrored = Min(row * 20 + (19 - column), k.Index(count - 1));
      const Value other = from % 60 / 30 * 30 + from / 60;
      value.Set(x.Load(mirrored) + Select(other < count, x.Load(Min(other, k.Index(count - 1))), x.Load(int64_t{0})));
    });
    y.Store(base + i, value.Get());
  });
  return std::move(k).Build();
}

// A dot with one element per thread: a long loop in the thread body, with a value and a variable that live across it.
inline Kernel Dot(int64_t rows, int64_t columns, int64_t terms) {
  KernelBuilder k("dot", CeilDiv(rows * columns, 512), 256);
  const Array x = k.Input("x", Type::kF32, rows * terms), y = k.Input("y", Type::kF32, terms * columns);
  const Array z = k.Output("z", Type::kF32, rows * columns);
  const Value base = k.block() * 512;
  k.Tile(2, rows * columns - base, [&](Value i) {
    const Value at = base + i, row = at / columns, column = at % columns;
    const Value first = Exp(y.Load(column));
    const Variable sum = k.MakeVariable(k.Constant(Type::kF32, 0.0)),
                   positive = k.MakeVariable(k.Constant(Type::kPred, 0));
    k.Loop(0, terms, 1, [&](Value term) {
      const Value product = x.Load(row * terms + term) * y.Load(term * columns + column);
      k.If(product > 0, [&] { positive.Set(k.Constant(Type::kPred, 1)); });
      sum.Set(sum.Get() + product);
    });
    z.Store(at, Select(positive.Get(), sum.Get() + first, first));
  });
  return std::move(k).Build();
}

// Two nested long loops with an If between them in a phase. Their bounds are read from memory.
inline Kernel NestedLoops() {
  KernelBuilder k("nested_loops", 3, 64);
  const Array bounds = k.Input("bounds", Type::kU8, 3), x = k.Input("x", Type::kF32, 300),
              y = k.Output("y", Type::kF32, 192);
  const Value limit = Convert(bounds.Load(k.block()), Type::kIndex);
  k.Phase([&] {
    const Variable sum = k.MakeVariable(k.Constant(Type::kF32, 1.0));
    const Value own = x.Load(k.thread());
    k.Loop(k.Index(0), limit, 1, [&](Value i) {
      const Value scale = x.Load(i) * own;
      k.If(
          i < 100,
          [&] {
            k.Loop(k.Index(0), i, 7, [&](Value j) { sum.Set(sum.Get() * 0.5 + x.Load(j + k.thread()) * scale); });
          },
          [&] { sum.Set(sum.Get() + scale); });
    });
    y.Store(k.block() * 64 + k.thread(), sum.Get());
  });
  return std::move(k).Build();
}

// Rows are too long for one block. Each block of the cluster sums a part, and every block reads all sums.
inline Kernel ClusterRowSum(int64_t rows, int64_t columns, int cluster) {
  constexpr int kThreads = 128;
  const int64_t part = CeilDiv(columns, cluster);
  KernelBuilder k("cluster_row_sum", rows * cluster, kThreads);
  k.SetCluster(cluster);
  const Array x = k.Input("x", Type::kF32, rows * columns), y = k.Output("y", Type::kF32, rows);
  const Array share = k.Output("share", Type::kF32, rows * cluster), sums = k.Shared("sums", Type::kF32, 1);
  const Slot sum = k.MakeSlot(Type::kF32, 2);
  k.SetSource("reduce.7");
  const Value row = k.cluster_index(), first = k.cluster_rank() * part, end = Min(first + part, k.Index(columns));
  // The second time sums squares, so the shared array is written again after other blocks have read it.
  for (const bool squares : {false, true}) {
    k.Fill(sum, 0.0);
    k.Loop(first, end, kThreads * 2, [&](Value begin) {
      k.Tile(2, end - begin, [&](Value i) {
        const Value value = x.Load(row * columns + begin + i);
        sum.Set(sum.Get() + (squares ? value * value : value));
      });
    });
    const Value own = k.BlockReduce(sum, Sum);
    sums.Store(0, own);
    Value total = sums.LoadFrom(k.Index(0), k.Index(0));
    for (int rank = 1; rank < cluster; ++rank) total = total + sums.LoadFrom(k.Index(rank), k.Index(0));
    if (squares) share.Store(k.block(), own / total);
    else k.If(k.cluster_rank() == 0, [&] { y.Store(row, total); });
  }
  return std::move(k).Build();
}

// In each trip of a loop, each thread reads the element of the next block in the cluster.
inline Kernel ClusterRotation(int cluster) {
  constexpr int kThreads = 64;
  KernelBuilder k("cluster_rotation", 2 * cluster, kThreads);
  k.SetCluster(cluster);
  const Array x = k.Input("x", Type::kS32, 2 * cluster * kThreads),
              y = k.Output("y", Type::kS32, 2 * cluster * kThreads);
  const Array row = k.Shared("row", Type::kS32, kThreads);
  const Slot value = k.MakeSlot(Type::kS32);
  const Value at = k.block() * kThreads;
  k.Tile(1, [&](Value i) { value.Set(x.Load(at + i)); });
  k.Loop(0, 3, 1, [&](Value round) {
    k.Tile(1, [&](Value i) { row.Store(i, value.Get()); });
    const Value neighbour = (k.cluster_rank() + 1 + round) % k.Index(cluster);
    k.Tile(1, [&](Value i) { value.Set(value.Get() * 3 + row.LoadFrom(neighbour, kThreads - 1 - i)); });
  });
  k.Tile(1, [&](Value i) { y.Store(at + i, value.Get()); });
  return std::move(k).Build();
}

// y += a * x for twenty tensors in one launch. Tables have the tensor and place of each block's chunk.
inline Kernel AxpyOfMany(int64_t overrun = 0) {
  constexpr int64_t kTensors = 20, kChunk = 512;
  std::vector<int64_t> sizes, tensor_of, chunk_of;
  for (int64_t tensor = 0; tensor < kTensors; ++tensor) {
    sizes.push_back(tensor % 3 == 0 ? 512 * (tensor / 3 + 1) : 37 * tensor);
    for (int64_t begin = 0; begin < sizes.back(); begin += kChunk) {
      tensor_of.push_back(tensor);
      chunk_of.push_back(begin / kChunk);
    }
  }
  KernelBuilder k("axpy_of_many", std::ssize(tensor_of), 128);
  const Array a = k.Input("a", Type::kF32, 1);
  const ArrayGroup x = k.InputGroup("x", Type::kF32, sizes), y = k.InOutGroup("y", Type::kF32, sizes);
  const Array tensors = k.Table("tensors", Type::kS32, tensor_of), chunks = k.Table("chunks", Type::kS32, chunk_of),
              counts = k.Table("counts", Type::kS32, sizes);
  k.SetSource("axpy.9");
  const Value tensor = Convert(tensors.Load(k.block()), Type::kIndex);
  const Value begin = Convert(chunks.Load(k.block()), Type::kIndex) * kChunk;
  const Value count = Convert(counts.Load(tensor), Type::kIndex) + overrun;
  k.Tile(4, count - begin, [&](Value i) {
    const Value at = begin + i;
    y.Store(tensor, at, y.Load(tensor, at) + a.Load(0) * x.Load(tensor, at));
  });
  return std::move(k).Build();
}

// The sums of tensors whose sizes are an argument of the launch. Each thread has one tensor.
inline Kernel SumOfMany(int64_t overrun = 0) {
  constexpr int64_t kTensors = 40, kMost = 50;
  KernelBuilder k("sum_of_many", 1, 64);
  const Array sizes = k.Input("sizes", Type::kS64, kTensors), sums = k.Output("sums", Type::kF64, kTensors);
  const ArrayGroup x = k.Group(ArrayKind::kInput, "x", Type::kF16, kTensors, kMost, sizes);
  k.Tile(1, k.Index(kTensors), [&](Value tensor) {
    const Variable sum = k.MakeVariable(k.Constant(Type::kF64, 0.0));
    k.Loop(k.Index(0), Convert(sizes.Load(tensor), Type::kIndex) + overrun, 1,
           [&](Value i) { sum.Set(sum.Get() + Convert(x.Load(tensor, i), Type::kF64)); });
    sums.Store(tensor, sum.Get());
  });
  return std::move(k).Build();
}

// Newton's steps for the square roots of a block's numbers, until all changes are small: a loop with an unknown number
// of trips and a reduction in it. The state is in shared memory and in a variable.
inline Kernel NewtonRoots(int64_t count) {
  KernelBuilder k("newton_roots", 2, 64);
  const Array x = k.Input("x", Type::kF32, 2 * count), y = k.Output("y", Type::kF32, 2 * count);
  const Array steps = k.Output("steps", Type::kS32, 2);
  const Array root = k.Shared("root", Type::kF32, count);
  const Value base = k.block() * count;
  k.SetSource("while.1");
  const auto each = [&](const KernelBuilder::IndexBody& body) { k.Tile(2, k.Index(count), body); };
  each([&](Value i) { root.Store(i, Abs(x.Load(base + i)) + 1.0); });
  const Variable change = k.MakeVariable(k.Constant(Type::kF32, 1.0));
  const Variable made = k.MakeVariable(k.Constant(Type::kS32, 0));
  k.While([&] { return (change.Get() > 1e-3) & (made.Get() < 50); },
          [&] {
            const Slot most = k.MakeSlot(Type::kF32, 2);
            k.Fill(most, 0.0);
            each([&](Value i) {
              const Value old = root.Load(i), next = (old + Abs(x.Load(base + i)) / old) * 0.5;
              root.Store(i, next);
              most.Set(Max(most.Get(), Abs(next - old)));
            });
            change.Set(k.BlockReduce(most, [](Value a, Value b) { return Max(a, b); }));
            made.Set(made.Get() + 1);
          });
  each([&](Value i) { y.Store(base + i, root.Load(i)); });
  steps.Store(k.block(), made.Get());
  return std::move(k).Build();
}

// Halves the elements of an array until their sum is small. The condition has phases, and the body contains a loop.
inline Kernel HalvedSums() {
  KernelBuilder k("halved_sums", 3, 64);
  const Array x = k.Input("x", Type::kS32, 3 * 64), y = k.Output("y", Type::kS32, 3 * 64);
  const Array value = k.Shared("value", Type::kS32, 64);
  const Value base = k.block() * 64;
  k.SetSource("while.2");
  k.Tile(1, [&](Value i) { value.Store(i, Abs(x.Load(base + i)) & 1023); });
  const auto sum = [&] {
    const Slot terms = k.MakeSlot(Type::kS32, 1);
    k.Tile(1, [&](Value i) { terms.Set(value.Load(i)); });
    return k.BlockReduce(terms, Sum);
  };
  k.While([&] { return sum() > 100; },
          [&] {
            const Variable least = k.MakeVariable(k.Constant(Type::kS32, 8));
            k.While([&] { return least.Get() > 0; },
                    [&] {
                      k.Tile(1, [&](Value i) {
                        const Value old = value.Load(i);
                        value.Store(i, Select(old > least.Get(), old - 1, old));
                      });
                      least.Set(least.Get() - 3);
                    });
            k.Tile(1, [&](Value i) { value.Store(i, value.Load(i) / 2); });
          });
  k.Tile(1, [&](Value i) { y.Store(base + i, value.Load(i)); });
  return std::move(k).Build();
}

inline std::vector<Kernel> SampleKernels() {
  std::vector<Kernel> kernels;
  kernels.push_back(Elementwise("gelu", Type::kF32, 3000, 4, [](Value x, Value y) { return Gelu(x) + Exp(y); }));
  kernels.push_back(Elementwise("gelu_odd", Type::kF32, 3001, 4, [](Value x, Value y) { return Gelu(x) + Exp(y); }));
  kernels.push_back(Elementwise("bf16", Type::kBF16, 5001, 8, [](Value x, Value y) { return Max(x + y, x * y); }));
  kernels.push_back(Elementwise("bf16_even", Type::kBF16, 4096, 8, [](Value x, Value y) { return x * y; }));
  kernels.push_back(Elementwise("f16", Type::kF16, 5000, 8, [](Value x, Value y) { return Tanh(x) / y; }));
  kernels.push_back(
      Elementwise("f64", Type::kF64, 1000, 2, [](Value x, Value y) { return Pow(Abs(x), y) + Sin(x) * Erf(y); }));
  kernels.push_back(Elementwise("sin", Type::kF32, 1001, 4,
                                [](Value x, Value y) { return Sin(x * 1e6) + Cos(y) + Atan2(x, y) + x % y; }));
  for (const Type type : {Type::kF32, Type::kF64}) {
    kernels.push_back(Elementwise("round", type, 1001, 2, [](Value x, Value y) {
      return Select(x <= y, Sqrt(Abs(x)) + Ceil(y * 3.5),
                    Truncate(x * 2.5) + RoundEven(y * 1.5) + RoundAwayFromZero(x * 0.5));
    }));
  }
  for (const Type type :
       {Type::kS8, Type::kU8, Type::kS16, Type::kU16, Type::kS32, Type::kU32, Type::kS64, Type::kU64}) {
    kernels.push_back(Elementwise(
        std::string("int_") + std::string(ToString(type)), type, 2049, 16 / Bytes(type), [](Value x, Value y) {
          return (x / y) ^ (x % y) ^ ShiftLeft(x, y) ^ ShiftRightArithmetic(x, y) ^ ShiftRightLogical(x, y) ^
                 Min(x, y) ^ Max(x, y) ^ (x * y + Abs(x - y)) ^ PopulationCount(x) ^ CountLeadingZeros(y);
        }));
    kernels.push_back(
        Elementwise(std::string("convert_") + std::string(ToString(type)), type, 1025, 4, [](Value x, Value y) {
          const Type type = x.type();
          return Convert(Convert(x, Type::kF32) * 1.5e3, type) + Convert(Convert(y, Type::kBF16), type) +
                 Convert(Convert(x, Type::kF64) * 1e300, type) +
                 Convert(Convert(Convert(y, Type::kF16), Type::kPred), type);
        }));
  }
  for (const int64_t elements : {2048, 2049}) {
    kernels.push_back(Elementwise("pairs", Type::kS32, elements, 4, [](Value x, Value y) {
      return DotPairs(x, y, x) ^ DotPairs(PackPair(x, y), PackPair(y, y), y);
    }));
  }
  kernels.push_back(NewtonRoots(100));
  kernels.push_back(NewtonRoots(128));
  kernels.push_back(HalvedSums());
  kernels.push_back(AsyncRows(Type::kF32));
  kernels.push_back(AsyncRows(Type::kBF16));
  kernels.push_back(PanelProduct(Type::kF32, 64, false));
  kernels.push_back(PanelProduct(Type::kF32, 45, true));
  kernels.push_back(PanelProduct(Type::kS32, 29, false));
  kernels.push_back(RowReduce(5, 1000, 4));
  kernels.push_back(RowReduce(3, 2051, 4));
  kernels.push_back(RowReduce(3, 4096, 8, Type::kBF16));
  kernels.push_back(WarpRowReduce(11, 256));
  kernels.push_back(WarpRowReduce(5, 77));
  kernels.push_back(ArgMax(4, 333));
  kernels.push_back(BranchyReduce());
  kernels.push_back(ColumnReduce(77, 300));
  kernels.push_back(ColumnReduce(64, 256));
  kernels.push_back(Transpose(64, 96));
  kernels.push_back(Transpose(67, 35));
  kernels.push_back(Transpose(67, 35, Type::kBF16));
  kernels.push_back(Transpose(67, 35, Type::kF64));
  kernels.push_back(Softmax(3, 1000));
  kernels.push_back(Softmax(2, 777));
  kernels.push_back(CumulativeSum(3, 300));
  kernels.push_back(Shuffles());
  kernels.push_back(Matches());
  kernels.push_back(SplitSum(10000, 7));
  kernels.push_back(Stencil(9, 130));
  kernels.push_back(Shifted(2000));
  kernels.push_back(Dot(7, 100, 300));
  kernels.push_back(Dot(3, 1025, 5));
  kernels.push_back(NestedLoops());
  kernels.push_back(Histogram(3000));
  kernels.push_back(OldValues());
  kernels.push_back(WarpReverse());
  kernels.push_back(LargeShared());
  kernels.push_back(SwapPairs(100));
  for (const MmaShape shape : kMmaShapes) {
    for (const MatrixOrder order : {MatrixOrder::kRowMajor, MatrixOrder::kColumnMajor}) {
      kernels.push_back(MatrixProduct(shape, order, order));
      kernels.push_back(OneProduct(shape, order, 0));
      kernels.push_back(OneProduct(shape, order, 1));
    }
  }
  kernels.push_back(ClusterRowSum(3, 5000, 4));
  kernels.push_back(ClusterRowSum(2, 777, 2));
  kernels.push_back(ClusterRotation(8));
  kernels.push_back(AxpyOfMany());
  kernels.push_back(BroadcastAdd(9, 64));
  kernels.push_back(BroadcastAdd(9, 65));
  return kernels;
}

}  // namespace hlo::kernel

#endif  // HLO_TESTS_GPU_KERNEL_SAMPLES_H_
