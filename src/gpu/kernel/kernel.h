// The representation of a kernel between the builder that records it (builder.h) and the two lowerings (nvptx.h,
// host.h). Independent of LLVM.
//
// A kernel is a tree of regions. The instructions of a region run in order. Each runs once for one block, one warp or
// one thread, according to the level of its region:
//
//   block level    the body of the kernel, and the bodies of kLoop, kWhile and kIf in it
//   warp level     the body of kWarps, and of kLoop and kIf in it
//   thread level   the bodies of kPhase and kTile, and everything below them
//
// A value may be used in its own region after its definition, and in nested regions. So values at block level are the
// same for all threads of the block, and so are the trip counts of loops at block level. Collectives (kBarrier,
// kWarpReduce, kShuffle, ...) exist only at block and warp level, so they are never in divergent code.
#ifndef HLO_GPU_KERNEL_KERNEL_H_
#define HLO_GPU_KERNEL_KERNEL_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hlo::kernel {

enum class Type : uint8_t {
#define HLO_KERNEL_TYPE(Name, text, bits) k##Name,
#include "gpu/kernel/types.def"
  // Index arithmetic, which never overflows and is never negative when divided. It has 32 bits on the GPU unless the
  // kernel needs more (wide_index), and 64 bits on the host.
  kIndex,
};

std::string_view ToString(Type type);
int Bits(Type type);   // Bits of a value; kIndex has 64.
int Bytes(Type type);  // Bytes of an element in memory.
constexpr bool IsFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kF64; }
constexpr bool IsSigned(Type type) { return (type >= Type::kS1 && type <= Type::kS64) || type == Type::kIndex; }
constexpr bool IsUnsigned(Type type) { return type >= Type::kU1 && type <= Type::kU64; }
constexpr bool IsInteger(Type type) { return IsSigned(type) || IsUnsigned(type); }
// Small floats are computed in f32 and rounded. Byte floats have at most 8 bits.
constexpr bool IsSmallFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kBF16; }
constexpr bool IsByteFloat(Type type) { return type >= Type::kF4E2M1FN && type < Type::kF16; }
// Integers that are computed as s8 or u8 and wrapped.
constexpr bool IsSubByte(Type type) {
  return (type >= Type::kS1 && type <= Type::kS4) || (type >= Type::kU1 && type <= Type::kU4);
}

constexpr int kWarpSize = 32;
// Indices from this one on need 64 bits. The margin below 2^31 allows rounding up to whole tiles and blocks.
constexpr int64_t kLeastWideIndex = (int64_t{1} << 31) - (1 << 20);

// The meaning of each op: kernel_ops.def.
enum class Op : uint8_t {
#define HLO_KERNEL_OP(Name, ...) k##Name,
#include "gpu/kernel/kernel_ops.def"
};

// The effects of an op besides its result.
enum Effects : uint8_t {
  kNoEffects = 0,
  kReads = 1,   // Reads the array imm.
  kWrites = 2,  // Writes the array imm.
  kState = 4,   // Uses slots or variables.
  // Threads synchronise, so the op must not be in divergent code.
  kMeets = 8,       // The threads of the block; at block level.
  kWarpMeets = 16,  // The threads of the warp; at warp level.
};
// Whether the result is the same for all threads if the operands are.
enum class Sameness : uint8_t { kSame, kOwn, kOfVariable, kNoResult };
constexpr int kSeveral = -1;  // A variable number of operands.

struct OpInfo {
  std::string_view text;
  int operands;
  uint8_t effects;
  Sameness sameness;
};
const OpInfo& InfoOf(Op op);
std::string_view ToString(Op op);

enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange };
enum class ShuffleMode : uint8_t { kDown, kUp, kXor, kIndexed };
constexpr int64_t kTileElement = -1;

struct Instruction;

struct Region {
  std::vector<int32_t> arguments;  // Values that the region defines.
  std::vector<Instruction> body;
  std::vector<int32_t> yields;
};

struct Instruction {
  Op op;
  Type type = Type::kPred;  // The type of the results.
  int32_t result = -1;      // The first result; further results have the next numbers.
  int32_t source = -1;      // Index in Kernel::sources.
  int32_t statement = -1;   // Numbered by PlaceBarriers.
  int64_t imm = 0;
  int64_t imm2 = 0;
  std::vector<int32_t> operands;
  std::vector<int32_t> slots;
  std::vector<Region> regions;
};

enum class ArrayKind : uint8_t {
  kInput,   // Not written during the whole launch.
  kOutput,  // Written and never read.
  kInOut,   // Read and written.
  kShared,  // One for each block; undefined when the block starts.
  kTable,   // Constants in the kernel.
};

struct ArrayInfo {
  std::string name;
  ArrayKind kind;
  Type type;
  int64_t elements;
  int64_t alignment;           // In bytes; the GPU code assumes it of the pointer.
  bool may_alias = false;      // May share memory with another parameter, with equal elements at equal indices.
  int64_t pitch = 0;           // kShared: the stride between rows of a tile, longer than a row. 0 if it is not a tile.
  std::vector<int64_t> table;  // kTable: the bits of the elements.
  // The number of arrays in a group of arrays, each with a pointer; 0 for a single array. `elements` is the size of the
  // largest.
  int64_t members = 0;
  std::vector<int64_t> member_elements;  // The size of each member. If empty, the input `sizes` (kS64) has them.
  int32_t sizes = -1;

  bool IsParameter() const { return kind <= ArrayKind::kInOut; }
  int64_t AllElements() const;  // The sum over members, or its maximum if only the launch knows the sizes.
};

enum class Level : uint8_t { kBlock, kWarp, kThread };

// A matrix that is distributed over the lanes of a warp (mma.h).
enum class MmaShape : uint8_t { kF16, kBF16, kTF32, kS8 };
enum class FragmentRole : uint8_t { kLeft, kRight, kSum };
struct FragmentKind {
  MmaShape shape;
  FragmentRole role;
  bool operator==(const FragmentKind&) const = default;
};

// A value of `width` elements for each thread that is kept across phases.
struct SlotInfo {
  Type type;
  int width;
  Level level;  // kBlock or kWarp: the level of its declaration.
  std::optional<FragmentKind> fragment = std::nullopt;
};

// One value for each block, warp or thread, according to the level of its declaration.
struct VariableInfo {
  Type type;
  Level level;
};

// A pointer of a launch.
struct KernelArgument {
  int array;  // Index in Kernel::arrays.
  int64_t member = 0;
};

struct Kernel {
  std::string name;
  int64_t blocks = 1;
  // Number of adjacent blocks that run together and can read each other's shared arrays. Divides `blocks`.
  int cluster = 1;
  int threads = kWarpSize;
  int min_blocks_per_sm = 0;      // 0 if not specified.
  bool wide_index = false;        // An index can reach kLeastWideIndex.
  std::vector<ArrayInfo> arrays;  // Parameters in the order of the arguments, mixed with shared arrays and tables.
  std::vector<SlotInfo> slots;
  std::vector<VariableInfo> variables;
  std::vector<std::string> sources;
  int32_t values = 0;
  Region body;

  int warps() const { return threads / kWarpSize; }
  std::vector<int> Parameters() const;  // Indices in `arrays`, in argument order.
  std::vector<KernelArgument> Arguments() const;
  int64_t SharedBytes() const;
};

// The number of values that an instruction defines, from its result on.
int Results(const Instruction& instruction);

// Whether threads have different results even for equal operands.
bool IsOwn(const Kernel& kernel, const Instruction& instruction);

// A text with one instruction per line.
std::string ToString(const Kernel& kernel);

// A 128-bit hash of the kernel except names and sources. Kernels with equal hashes may share compiled code.
struct KernelHash {
  uint64_t high = 0, low = 0;
  auto operator<=>(const KernelHash&) const = default;
  std::string ToString() const;
};
KernelHash Hash(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_KERNEL_H_
