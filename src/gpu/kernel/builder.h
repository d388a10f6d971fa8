// The structured SIMT builder, through which emitters write all kernels. The recorded kernel (kernel.h) is lowered to
// NVPTX (nvptx.h) and to vectorised host code (host.h) with bit-identical results.
//
// A kernel is written at three levels. Code at *block level* runs once per block: index arithmetic, and loops and ifs
// whose conditions are the same for all threads. Phase(), Tile() and Warps() lead to lower levels:
//
//   Phase(body)           body runs in every thread; k.thread(), k.warp(), k.lane() identify it
//   Tile(V, limit, body)  body(i) runs for i in [0, min(limit, threads * V)). Each thread has V contiguous i: vector
//                         accesses on the GPU, one flat loop on the host. To exclude elements, use limit, not If
//   Warps(body)           body runs once per warp (*warp level*). It may contain loops and ifs that differ between
//                         warps, reductions, shuffles, and Phase and Tile, which then cover the 32 lanes of the warp
//
// Values of an upper level may be used at lower levels. Slots keep one value per thread from phase to phase. Shared
// arrays and reductions pass values to upper levels. Build() places the barriers between phases (barriers.h), so no
// barrier can be missing or in divergent code. Within a phase, threads must not access elements that another thread of
// the phase writes.
//
// Elementwise, z = exp(x) + 1, any count:
//
//   KernelBuilder k("add_exp", CeilDiv(count, 256 * 4), 256);  // Blocks, threads.
//   Array x = k.Input("x", Type::kF32, count);
//   Array z = k.Output("z", Type::kF32, count);
//   Value base = k.block() * (256 * 4);
//   k.Tile(4, count - base, [&](Value i) {
//     z.Store(base + i, Exp(x.Load(base + i)) + 1.0);
//   });
//   Kernel kernel = std::move(k).Build();
//
// More examples: gpu/emitters/loop.cpp, reduction.cpp, transpose.cpp.
//
// Performance. Use Tile for the contiguous dimension, with V = 16 bytes / widest type in memory. Accesses become
// vectors on the GPU if the index is (multiple of V) + i; it may contain `% C` and `/ C` with C a multiple of V. Loops
// with a uniform trip count are best at block or warp level, with slots of width V as accumulators. Short loops in a
// thread body are unrolled. On the host, long loops with equal bounds in all threads run outside the loop over lanes,
// and other long loops are not vectorised. Use lane() and warp(), never thread() % 32.
//
// Wrong use (a value out of scope, a collective in a thread body, different types) is a bug of the emitter and fails a
// CHECK.
#ifndef HLO_GPU_KERNEL_BUILDER_H_
#define HLO_GPU_KERNEL_BUILDER_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

class KernelBuilder;

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A handle of a value in the kernel, cheap to copy.
class Value {
 public:
  Value() = default;
  Type type() const { return type_; }
  KernelBuilder& builder() const { return *builder_; }
  explicit operator bool() const { return builder_ != nullptr; }

 private:
  friend class KernelBuilder;
  KernelBuilder* builder_ = nullptr;
  int32_t id_ = -1;
  Type type_ = Type::kPred;
};

// Operands must have the same type. Floats narrower than f32 are computed in f32 and rounded once, here and in all
// functions below. Integers follow HLO: they wrap; x / 0 is -1 (all ones if unsigned), x % 0 is x, MIN / -1 is MIN, MIN
// % -1 is 0. Shifts by the width or more give 0 or, in arithmetic right shifts, copies of the sign bit. Values of
// kIndex are not checked: they must not overflow, be divided by 0, or be negative when divided.
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);  // Correctly rounded for floats.
Value operator%(Value a, Value b);  // Floats: fmod, exact. Integers: the result has the dividend's sign.
Value operator-(Value a);
Value operator&(Value a, Value b);
Value operator|(Value a, Value b);
Value operator^(Value a, Value b);
Value operator~(Value a);  // Also the logical not of kPred.
Value ShiftLeft(Value a, Value amount);
Value ShiftRightArithmetic(Value a, Value amount);
Value ShiftRightLogical(Value a, Value amount);
Value MulHigh(Value a, Value b);
// Comparisons give kPred. With NaN all are false except !=.
Value operator==(Value a, Value b);
Value operator!=(Value a, Value b);
Value operator<(Value a, Value b);
Value operator<=(Value a, Value b);
Value operator>(Value a, Value b);
Value operator>=(Value a, Value b);
Value Select(Value condition, Value on_true, Value on_false);
Value Min(Value a, Value b);  // NaN if a or b is NaN.
Value Max(Value a, Value b);
Value Fma(Value a, Value b, Value c);
// PackPair puts two s16 into a kS32, `low` into the low half. DotPairs returns c + a0 * b0 + a1 * b1, wrapping, where
// a0 and a1 are the s16 halves of a.
Value PackPair(Value low, Value high);
Value DotPairs(Value a, Value b, Value c);
Value Abs(Value a);
Value Sqrt(Value a);
Value Floor(Value a);
Value Ceil(Value a);
Value Truncate(Value a);
Value RoundEven(Value a);
Value RoundAwayFromZero(Value a);
Value CopySign(Value magnitude, Value sign);
Value CountLeadingZeros(Value a);
Value PopulationCount(Value a);
// To floats, rounds to nearest even. From floats to integers, truncates and saturates, and NaN gives 0. To kPred: a !=
// 0.
Value Convert(Value a, Type type);
Value Bitcast(Value a, Type type);  // The types must have the same width.

Value ConstantLike(Value a, int64_t literal);
Value ConstantLike(Value a, double literal);
template <class T>
concept Literal = std::integral<T> || std::floating_point<T>;
template <Literal T>
Value AsValue(Value like, T literal) {
  if constexpr (std::integral<T>) return ConstantLike(like, static_cast<int64_t>(literal));
  else return ConstantLike(like, static_cast<double>(literal));
}
#define HLO_KERNEL_LITERALS(op)     \
  template <Literal T>              \
  Value operator op(Value a, T b) { \
    return a op AsValue(a, b);      \
  }                                 \
  template <Literal T>              \
  Value operator op(T a, Value b) { \
    return AsValue(b, a) op b;      \
  }
HLO_KERNEL_LITERALS(+)
HLO_KERNEL_LITERALS(-)
HLO_KERNEL_LITERALS(*)
HLO_KERNEL_LITERALS(/)
HLO_KERNEL_LITERALS(%)
HLO_KERNEL_LITERALS(&)
HLO_KERNEL_LITERALS(|)
HLO_KERNEL_LITERALS(^)
HLO_KERNEL_LITERALS(==)
HLO_KERNEL_LITERALS(!=)
HLO_KERNEL_LITERALS(<)
HLO_KERNEL_LITERALS(<=)
HLO_KERNEL_LITERALS(>)
HLO_KERNEL_LITERALS(>=)
#undef HLO_KERNEL_LITERALS

// A parameter, shared array or table. Indices are kIndex values and count elements.
class Array {
 public:
  Type type() const;
  int64_t elements() const;
  bool operator==(const Array&) const = default;

  // At block level, the load is uniform, and the store happens once for each block.
  Value Load(Value index) const;
  void Store(Value index, Value value) const;
  Value Load(int64_t index) const;
  void Store(int64_t index, Value value) const;
  // Access `width` contiguous elements of together at most 16 bytes. The index must be a multiple of `width`. Prefer
  // Tile.
  std::vector<Value> LoadVector(Value index, int width) const;
  void StoreVector(Value index, std::span<const Value> values) const;
  // For a SharedTile. LoadTransposed requires an earlier TransposeTile. It is fast if adjacent threads load adjacent
  // rows.
  void StoreAt(Value row, Value column, Value value) const;
  Value LoadTransposed(Value row, Value column) const;
  // For a shared array: loads from the same array of block `rank` of the cluster.
  Value LoadFrom(Value rank, Value index) const;
  // Relaxed and device-wide atomic operations, at thread level, for 32 and 64 bits. Floats have only kAdd and
  // kExchange.
  void Atomic(AtomicOp op, Value index, Value value) const;
  Value AtomicFetch(AtomicOp op, Value index, Value value) const;  // Returns the old value.
  // Returns the old value. Integers only.
  Value AtomicCompareExchange(Value index, Value expected, Value desired) const;

 private:
  friend class KernelBuilder;
  KernelBuilder* builder_ = nullptr;
  int32_t id_ = -1;
};

// Parameters of one type, selected by number, so that one launch can process many arrays.
class ArrayGroup {
 public:
  Type type() const;
  int64_t size() const;
  Value Load(Value member, Value index) const;
  void Store(Value member, Value index, Value value) const;

 private:
  friend class KernelBuilder;
  KernelBuilder* builder_ = nullptr;
  int32_t id_ = -1;
};

// `width` values for each thread, kept across phases. Used at thread level.
class Slot {
 public:
  Type type() const;
  int width() const;
  // In a Tile with V == width(): the element for the current index. In a Phase, with width() 1: the only element.
  Value Get() const;
  void Set(Value value) const;
  // In a Phase: the element with this number.
  Value Get(int element) const;
  void Set(int element, Value value) const;

 private:
  friend class Fragment;
  friend class KernelBuilder;
  KernelBuilder* builder_ = nullptr;
  int32_t id_ = -1;
};

enum class MatrixOrder : uint8_t { kRowMajor, kColumnMajor };

// A warp's matrix in the format of matrix products (mma.h), with `width()` elements in each lane.
class Fragment {
 public:
  FragmentKind kind() const;
  Type type() const { return slot_.type(); }
  int width() const { return slot_.width(); }
  // In a Phase: an element of this lane, its row and its column. In factors of tf32 products, Set rounds to tf32.
  Value Get(int element) const { return slot_.Get(element); }
  void Set(int element, Value value) const;
  Value Row(int element) const;
  Value Column(int element) const;

 private:
  friend class KernelBuilder;
  Slot slot_;
};
// A fragment whose role in products the C++ compiler checks.
template <FragmentRole role>
class FragmentOf : public Fragment {};
using LeftFragment = FragmentOf<FragmentRole::kLeft>;
using RightFragment = FragmentOf<FragmentRole::kRight>;
using SumFragment = FragmentOf<FragmentRole::kSum>;

// A mutable value at the level where it was made: one per block, warp or thread, and in a Tile one per element. Written
// at that level, also in loops and ifs. Read at that level and below.
class Variable {
 public:
  Type type() const;
  Value Get() const;
  void Set(Value value) const;

 private:
  friend class KernelBuilder;
  KernelBuilder* builder_ = nullptr;
  int32_t id_ = -1;
};

class KernelBuilder {
 public:
  using Body = std::function<void()>;
  using IndexBody = std::function<void(Value index)>;
  // Treated as associative, but not as commutative: `a` precedes `b`. Must not access memory.
  using Combine = std::function<Value(Value a, Value b)>;
  using CombineMany = std::function<std::vector<Value>(std::span<const Value> a, std::span<const Value> b)>;

  // `threads` must be a multiple of 32, at most 1024.
  KernelBuilder(std::string name, int64_t blocks, int threads);
  KernelBuilder(const KernelBuilder&) = delete;

  // Limits registers so that `blocks` blocks fit on an SM.
  void SetMinBlocksPerSm(int blocks) { kernel_.min_blocks_per_sm = blocks; }
  // Declares that index arithmetic may reach `indices`. Needed only for numbers above the sizes of all arrays.
  void CountsTo(int64_t indices) { kernel_.wide_index |= indices >= kLeastWideIndex; }
  // The HLO instruction of the code recorded from now on, for the sanitizer.
  void SetSource(std::string instruction);

  // Parameters, in argument order. All indices must be below `elements`. GPU code assumes `alignment`, in bytes.
  Array Input(std::string name, Type type, int64_t elements, int64_t alignment = 256);
  Array Output(std::string name, Type type, int64_t elements, int64_t alignment = 256);
  Array InOut(std::string name, Type type, int64_t elements, int64_t alignment = 256);
  // The parameter may have the memory of another one, with equal indices for equal elements (update in place).
  void SetMayAlias(Array array);
  void SetMayAlias(ArrayGroup group);  // Each member may alias the same member of another group.
  // Groups of parameters, with a pointer and a number of elements for each member. Group() makes `members` members of
  // at most `elements` elements, whose actual sizes at launch are in the input `sizes` (kS64).
  ArrayGroup InputGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment = 256);
  ArrayGroup OutputGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment = 256);
  ArrayGroup InOutGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment = 256);
  ArrayGroup Group(ArrayKind kind, std::string name, Type type, int64_t members, int64_t elements, Array sizes,
                   int64_t alignment = 256);
  Array Shared(std::string name, Type type, int64_t elements);
  // A shared array that is written along rows and read along columns. `rows` and `columns` must be multiples of 16.
  // `padding`, at least 1, counts unused elements after each row.
  Array SharedTile(std::string name, Type type, int64_t rows, int64_t columns, int64_t padding = 1);
  // At block level, between writing and reading a SharedTile. Only the first `rows` rows and `columns` columns will be
  // read. The GPU reads columns directly, because the padding puts lanes on different banks. The host transposes in
  // registers.
  void TransposeTile(Array tile, Value rows, Value columns);
  // Starts to copy 16 bytes from an input to a shared array of the same type, in a Phase. Both indices must be at
  // multiples of 16 bytes. Each CopyWait, at block level, ends a group of copies in each thread, and waits until at
  // most `on_their_way` of the thread's groups are unfinished. Example: tests/gpu/kernel_samples.h.
  void CopyAsync(Array to, Value to_index, Array from, Value from_index);
  void CopyWait(int on_their_way = 0);
  Array Table(std::string name, Type type, std::vector<int64_t> bits);
  // A parameter whose pointer is the handle of a condition in the launch's CUDA graph. SetCondition takes a kU32. At
  // thread level, only one thread may call it. At block or warp level, it runs once for each block or warp.
  Array Condition(std::string name);
  void SetCondition(Array condition, Value value);

  Value Constant(Type type, int64_t value);
  Value Constant(Type type, double value);
  Value Constant(Type type, int value) { return Constant(type, int64_t{value}); }
  Value Bits(Type type, int64_t bits);  // A constant from its bits in memory.
  Value Index(int64_t value) { return Constant(Type::kIndex, value); }

  Value block();  // At any level.
  // Groups blocks into clusters of `blocks`. Build() places barriers of the cluster (barriers.h). Accesses that need
  // such a barrier must be in code that all blocks of a cluster execute alike. Requires sm_90.
  void SetCluster(int blocks);
  Value cluster_rank();   // At any level.
  Value cluster_index();  // block() / cluster(), the same for all blocks of a cluster.
  Value warp();           // At warp level and in a Phase.
  Value lane();           // In a Phase.
  Value thread();         // In a Phase.

  int64_t blocks() const { return kernel_.blocks; }
  int cluster() const { return kernel_.cluster; }
  int threads() const { return kernel_.threads; }
  int warps() const { return kernel_.warps(); }

  // Phase and Tile are for block or warp level, Warps for block level, Loop and If for any level.
  void Phase(const Body& body);
  void Tile(int width, Value limit, const IndexBody& body);
  void Tile(int width, const IndexBody& body);  // Covers threads * width elements, or 32 * width at warp level.
  void Warps(const Body& body);
  // for (index = begin; index < end; index += step). The GPU unrolls the body `unroll` times, completely for 0.
  void Loop(Value begin, Value end, Value step, const IndexBody& body, int unroll = 1);
  void Loop(int64_t begin, int64_t end, int64_t step, const IndexBody& body, int unroll = 1);
  void Loop(Value begin, Value end, int64_t step, const IndexBody& body, int unroll = 1);
  void If(Value condition, const Body& then, const Body& otherwise = nullptr);
  // while (condition()) body(), at block level. The condition is the same for all threads and may contain phases.
  // Variables and arrays carry values from trip to trip.
  void While(const std::function<Value()>& condition, const Body& body);

  // Called at block or warp level.
  Slot MakeSlot(Type type, int width = 1);
  Slot MakeSlot(Type type, int width, Value initial);
  // Called at any level. A variable without `initial` must be set before it is read.
  Variable MakeVariable(Type type);
  Variable MakeVariable(Value initial);
  void Fill(Slot slot, Value value);
  void Fill(Slot slot, double value) { Fill(slot, Constant(slot.type(), value)); }

  // Reductions over all threads of the warp (at warp level) or block (at block level). The order is fixed: elements of
  // a slot, then adjacent lanes (0 with 1, 2 with 3, then 0 with 2, ...), then warps. Afterwards the slots may contain
  // partial results.
  Value WarpReduce(Slot slot, const Combine& combine);
  std::vector<Value> WarpReduce(std::span<const Slot> slots, const CombineMany& combine);
  Value BlockReduce(Slot slot, const Combine& combine);
  std::vector<Value> BlockReduce(std::span<const Slot> slots, const CombineMany& combine);
  // Reduces groups of `lanes` (a power of two) adjacent lanes. The slots of every lane get the result of its group. For
  // warp level and slots of width 1.
  void GroupReduce(std::span<const Slot> slots, int lanes, const CombineMany& combine);
  // Inclusive scan over the lanes, or over the block's threads, in place. BlockScan returns the totals. For slots of
  // width 1.
  void WarpScan(std::span<const Slot> slots, const CombineMany& combine);
  std::vector<Value> BlockScan(std::span<const Slot> slots, const CombineMany& combine);
  // For warp level and slots of width 1. `to` of lane l becomes `from` of lane l + amount, l - amount, l ^ amount, or
  // lane[l] (kS32, 0..31). A lane whose source is outside the warp keeps its own `from`.
  void ShuffleDown(Slot to, Slot from, int amount);
  void ShuffleUp(Slot to, Slot from, int amount);
  void ShuffleXor(Slot to, Slot from, int amount);
  void ShuffleIndexed(Slot to, Slot from, Slot lane);
  // For warp level and kU32 slots of width 1. `to` gets a bit for each lane whose `from` has the same low `bits` bits
  // as this lane's.
  void Match(Slot to, Slot from, int bits);
  // At warp level: the value in one lane.
  Value WarpBroadcast(Slot slot, Value lane);
  Value WarpBroadcast(Slot slot, int lane) { return WarpBroadcast(slot, Index(lane)); }

  // Matrix products of a warp. Fragments are made at block or warp level, and used at warp level.
  LeftFragment MakeLeft(MmaShape shape);
  RightFragment MakeRight(MmaShape shape);
  SumFragment MakeSum(MmaShape shape);
  void Fill(SumFragment sum, Value value);
  // Element [row, column] is at index + row * pitch + column, or, if column-major, index + row + column * pitch. An f32
  // array can fill a tf32 fragment. From a shared array, with index and pitch multiples of 16 bytes, one instruction
  // can load a whole left or right matrix.
  void LoadFragment(const Fragment& to, Array from, Value index, int64_t pitch, MatrixOrder order);
  void Mma(SumFragment sum, LeftFragment left, RightFragment right);

  // For reductions divided over blocks, at block level. Counts arriving blocks in counters[index] (kU32 InOut, zero
  // before the launch). True in the last of `expected` blocks. This block resets the counter, and sees all writes to
  // kInOut arrays that other blocks made before they arrived.
  Value ArriveLast(Array counters, Value index, int64_t expected);

  // Ends the recording, places barriers and verifies the kernel.
  Kernel Build() &&;

  // Records an instruction in the current region, for this header and math.h.
  Value Record(Op op, Type type, std::initializer_list<Value> operands, int64_t imm = 0, int64_t imm2 = 0);
  bool IsConstant(Value value, int64_t* bits) const;

 private:
  friend class Array;
  friend class ArrayGroup;
  friend class Fragment;
  friend class Slot;
  friend class Variable;

  struct OpenRegion {
    Region region;
    Level level;
    bool in_phase = false;
    bool in_warps = false;
    int tile_width = 0;
  };
  struct ValueInfo {
    int region;
    bool constant;
    int64_t bits;
  };

  OpenRegion& current() { return open_.back(); }
  Level level() const { return open_.back().level; }
  Value Define(Type type);
  Value ValueOf(int32_t id, Type type);
  void Use(Value value) const;
  Instruction& Append(Op op, Type type, std::span<const Value> operands);
  Region Nest(Level level, bool in_phase, int tile_width, Value* argument, const Body& body);
  Region Combiner(std::span<const Slot> slots, const CombineMany& combine);
  Array AddArray(ArrayInfo info);
  ArrayGroup AddGroup(ArrayInfo info);
  void MakeFragment(FragmentKind kind, Fragment& fragment);
  std::vector<Slot> Narrow(std::span<const Slot> slots, const CombineMany& combine);
  void Shuffle(ShuffleMode mode, Slot to, Slot from, int amount, std::initializer_list<Slot> lane);

  Kernel kernel_;
  std::vector<OpenRegion> open_;
  std::vector<int> serials_;  // Serial numbers of the regions in open_.
  int next_serial_ = 0;
  std::vector<ValueInfo> values_;
  int32_t source_ = -1;
};

inline KernelBuilder::CombineMany Lift(const KernelBuilder::Combine& combine) {
  return
      [combine](std::span<const Value> a, std::span<const Value> b) { return std::vector<Value>{combine(a[0], b[0])}; };
}

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BUILDER_H_
