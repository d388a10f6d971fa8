// What a kernel is, between the builder that records it (builder.h) and the two lowerings that read it (nvptx.h,
// host.h). No LLVM here.
//
// A kernel is a tree of regions. The instructions of a region run in order, and each runs once for one block, one warp
// or one thread, by the level of its region:
//
//   block level    the body of the kernel, and the bodies of kLoop and kIf in it
//   warp level     the body of kWarps, and of kLoop and kIf in it
//   thread level   the bodies of kPhase and kTile, and everything below them
//
// A value may be used in its own region, after its definition, and in the regions below it. So a value of the block
// level is the same for all threads of the block, and the trip count of a loop at block level is block-uniform, by
// construction. Collectives (kBarrier, kWarpReduce, kShuffle, ...) exist at block and warp level only: never in
// divergent code.
#ifndef HLO_GPU_KERNEL_KERNEL_H_
#define HLO_GPU_KERNEL_KERNEL_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hlo::kernel {

enum class Type : uint8_t {
  kPred,  // One byte in memory, 0 or 1.
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  // Index arithmetic: never overflows, never negative when divided. 32 bits on the GPU unless the kernel counts further
  // (wide_index), 64 bits on the host.
  kIndex,
};

std::string_view ToString(Type type);
int Bits(Type type);   // Of a value; kIndex counts as 64.
int Bytes(Type type);  // Of an element in memory.
constexpr bool IsFloat(Type type) { return type >= Type::kF16 && type <= Type::kF64; }
constexpr bool IsSigned(Type type) { return (type >= Type::kS8 && type <= Type::kS64) || type == Type::kIndex; }
constexpr bool IsUnsigned(Type type) { return type >= Type::kU8 && type <= Type::kU64; }
constexpr bool IsInteger(Type type) { return IsSigned(type) || IsUnsigned(type); }
constexpr bool IsSmallFloat(Type type) { return type == Type::kF16 || type == Type::kBF16; }

constexpr int kWarpSize = 32;
// From here on an index has 64 bits. What is below 2^31 is for counts that are rounded up to whole tiles and blocks.
constexpr int64_t kLeastWideIndex = (int64_t{1} << 31) - (1 << 20);

enum class Op : uint8_t {
  // No operands.
  kConstant,  // imm: the bits of a float, the value of an integer.
  kBlock,     // Index of the block in the grid.
  kWarp,      // Index of the warp in the block. Warp or thread level.
  kLane,      // Index of the thread in the warp. kPhase only.
  kThread,    // Index of the thread in the block. kPhase only.

  // Arithmetic, on kPred (kAnd, kOr, kXor, kNot only), integers, kIndex, kF32, kF64. Two's complement wraps. Division
  // of
  // integers is undefined for a zero divisor and for MIN / -1 (the builder guards it); shifts are undefined for amounts
  // >= width (the builder guards them).
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kMin,
  kMax,  // Floats: NaN if either is NaN; -0 < +0.
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,  // kShiftRight: arithmetic for signed types, logical for unsigned.
  kMulHigh,     // High half of the double-width product; 32 and 64 bits.
  kFma,
  kNegate,
  kAbs,
  kNot,
  kSqrt,
  kFloor,
  kCeil,
  kTruncate,
  kRoundEven,
  kRoundAway,
  kCopySign,
  kCountLeadingZeros,
  kPopulationCount,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,  // Type kPred; float: false on NaN, kNotEqual true.
  kSelect,
  kConvert,  // Round to nearest even; float to integer saturates, NaN gives 0; integer to integer wraps.
  kBitcast,

  // Memory. imm: array. At block level (warp level) a store is done once per block (warp).
  kLoad,         // (index)
  kLoadVector,   // (index); imm2: width; as many results. index must be a multiple of width.
  kLoadTurned,   // (index, row, column): the element at index = row * pitch + column of a turned tile.
  kTurn,         // Block level. (rows, columns): so much of the tile will be read by kLoadTurned. No result.
  kStore,        // (index, value)
  kStoreVector,  // (index, values...)
  kAtomic,       // (index, value); imm2: AtomicOp. No result.
  kAtomicFetch,  // The same; the result is the old value.
  kAtomicCas,    // (index, expected, desired); the result is the old value.

  // Mutable values. imm: slot or variable.
  kSlotGet,
  kSlotSet,  // imm2: element, or kTileElement.
  kVariableGet,
  kVariableSet,

  // Structure.
  kPhase,  // region 0 once for each thread.
  kTile,   // (limit); imm: V. region 0 (argument: index i) for the i in [thread * V, thread * V + V) below limit.
  kWarps,  // region 0 once for each warp.
  kLoop,   // (begin, end, step); imm: unroll factor hint. region 0 (argument: index).
  kIf,     // (condition). regions 0 (then), 1 (else, may be absent).

  // Collectives.
  kBarrier,      // Block level. Placed by Build().
  kWarpBarrier,  // Warp level. Placed by Build().
  kWarpReduce,   // imm: first of `slots`. region 0 combines: arguments a0.. b0.., yields. Results: the reduced values.
  kGroupReduce,  // The same in groups of imm2 adjacent lanes; every lane's slots get the result of its group.
  kWarpScan,     // Inclusive, in place.
  kShuffle,      // slots = {to, from}; imm: ShuffleMode, imm2: amount; kIndexed: slots[2] holds the lane (kS32).
  kWarpBroadcast,  // (lane); slots = {from}. Result: the value in that lane.
  kArrive,         // Block level. (index, expected); imm: array (kU32). See KernelBuilder::ArriveLast.
};
std::string_view ToString(Op op);

enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange };
enum class ShuffleMode : uint8_t { kDown, kUp, kXor, kIndexed };
constexpr int64_t kTileElement = -1;

struct Instruction;

struct Region {
  std::vector<int32_t> arguments;  // Values defined by the region.
  std::vector<Instruction> body;
  std::vector<int32_t> yields;
};

struct Instruction {
  Op op;
  Type type = Type::kPred;  // Of the results.
  int32_t result = -1;      // The first result; further ones follow it.
  int32_t source = -1;      // Into Kernel::sources.
  int32_t statement = -1;   // Numbered by PlaceBarriers.
  int64_t imm = 0;
  int64_t imm2 = 0;
  std::vector<int32_t> operands;
  std::vector<int32_t> slots;
  std::vector<Region> regions;
};

enum class ArrayKind : uint8_t {
  kInput,   // Read-only for the whole launch.
  kOutput,  // Written; never read.
  kInOut,   // Read and written.
  kShared,  // One per block; undefined when the block starts.
  kTable,   // Constants in the kernel.
};

struct ArrayInfo {
  std::string name;
  ArrayKind kind;
  Type type;
  int64_t elements;
  int64_t alignment;           // Bytes; what the GPU lowering may assume of the pointer.
  bool may_alias = false;      // Shares memory with another parameter: elements of the same index only.
  int64_t pitch = 0;           // kShared: of the rows of a tile; they have one element less. 0: no tile.
  std::vector<int64_t> table;  // kTable: bits.

  bool IsParameter() const { return kind <= ArrayKind::kInOut; }
};

enum class Level : uint8_t { kBlock, kWarp, kThread };

// One value per thread, `width` wide, that lives across phases.
struct SlotInfo {
  Type type;
  int width;
  Level level;  // kBlock or kWarp: where it was declared.
};

// One value per block, warp or thread, by where it was declared.
struct VariableInfo {
  Type type;
  Level level;
};

struct Kernel {
  std::string name;
  int64_t blocks = 1;
  int threads = kWarpSize;
  int min_blocks_per_sm = 0;  // 0: no wish.
  bool wide_index = false;    // kLeastWideIndex is reached: by the elements of an array, or by what is iterated over.
  std::vector<ArrayInfo>
      arrays;  // Parameters in the order of the arguments; shared arrays and tables anywhere between.
  std::vector<SlotInfo> slots;
  std::vector<VariableInfo> variables;
  std::vector<std::string> sources;
  int32_t values = 0;
  Region body;

  int warps() const { return threads / kWarpSize; }
  std::vector<int> Parameters() const;  // Indices into `arrays`, in argument order.
  int64_t SharedBytes() const;
};

// For reading; one instruction per line.
std::string ToString(const Kernel& kernel);

// 128 bits of what the kernel computes and how: everything but names and sources. Equal hashes may share compiled code.
struct KernelHash {
  uint64_t high = 0, low = 0;
  auto operator<=>(const KernelHash&) const = default;
  std::string ToString() const;
};
KernelHash Hash(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_KERNEL_H_
