// What a kernel is, between the builder that records it (builder.h) and the two lowerings that read it (nvptx.h,
// host.h). No LLVM here.
//
// A kernel is a tree of regions. The instructions of a region run in order, and each runs once for one block, one warp
// or one thread, by the level of its region:
//
//   block level    the body of the kernel, and the bodies of kLoop, kWhile and kIf in it
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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hlo::kernel {

enum class Type : uint8_t {
#define HLO_KERNEL_TYPE(Name, text, bits) k##Name,
#include "gpu/kernel/types.def"
  // Index arithmetic: never overflows, never negative when divided. 32 bits on the GPU unless the kernel counts further
  // (wide_index), 64 bits on the host.
  kIndex,
};

std::string_view ToString(Type type);
int Bits(Type type);   // Of a value; kIndex counts as 64.
int Bytes(Type type);  // Of an element in memory.
constexpr bool IsFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kF64; }
constexpr bool IsSigned(Type type) { return (type >= Type::kS1 && type <= Type::kS64) || type == Type::kIndex; }
constexpr bool IsUnsigned(Type type) { return type >= Type::kU1 && type <= Type::kU64; }
constexpr bool IsInteger(Type type) { return IsSigned(type) || IsUnsigned(type); }
// Floats that are computed in f32 and rounded; of those, the ones of a byte or less.
constexpr bool IsSmallFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kBF16; }
constexpr bool IsByteFloat(Type type) { return type >= Type::kF4E2M1FN && type < Type::kF16; }
// Integers that are computed as s8 or u8 and wrapped.
constexpr bool IsSubByte(Type type) {
  return (type >= Type::kS1 && type <= Type::kS4) || (type >= Type::kU1 && type <= Type::kU4);
}

constexpr int kWarpSize = 32;
// From here on an index has 64 bits. What is below 2^31 is for counts that are rounded up to whole tiles and blocks.
constexpr int64_t kLeastWideIndex = (int64_t{1} << 31) - (1 << 20);

// What they are is said in kernel_ops.def.
enum class Op : uint8_t {
#define HLO_KERNEL_OP(Name, ...) k##Name,
#include "gpu/kernel/kernel_ops.def"
};

// What an op touches besides its operands.
enum Effects : uint8_t {
  kNoEffects = 0,
  kReads = 1,   // The array imm.
  kWrites = 2,  // The array imm.
  kState = 4,   // Slots or variables.
  // Threads meet: it never stands in divergent code.
  kMeets = 8,       // Those of the block. Block level.
  kWarpMeets = 16,  // Those of the warp. Warp level.
};
// Whether a result is the same for all threads (when the operands are).
enum class Sameness : uint8_t { kSame, kOwn, kOfVariable, kNoResult };
constexpr int kSeveral = -1;  // Operands: their number differs.

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
  int64_t pitch = 0;           // kShared: of the rows of a tile, which are shorter. 0: no tile.
  std::vector<int64_t> table;  // kTable: bits.
  // A parameter that is a group of arrays, one pointer each: how many. 0: it is one array. `elements`: of the largest.
  int64_t members = 0;
  std::vector<int64_t> member_elements;  // By member; empty: the elements of the input `sizes` say it (kS64).
  int32_t sizes = -1;

  bool IsParameter() const { return kind <= ArrayKind::kInOut; }
  int64_t AllElements() const;  // Of all members; where only the launch knows them, the most there can be.
};

enum class Level : uint8_t { kBlock, kWarp, kThread };

// A matrix of which every lane of a warp holds some elements: mma.h.
enum class MmaShape : uint8_t { kF16, kBF16, kTF32, kS8 };
enum class FragmentRole : uint8_t { kLeft, kRight, kSum };
struct FragmentKind {
  MmaShape shape;
  FragmentRole role;
  bool operator==(const FragmentKind&) const = default;
};

// One value per thread, `width` wide, that lives across phases.
struct SlotInfo {
  Type type;
  int width;
  Level level;  // kBlock or kWarp: where it was declared.
  std::optional<FragmentKind> fragment = std::nullopt;
};

// One value per block, warp or thread, by where it was declared.
struct VariableInfo {
  Type type;
  Level level;
};

// A pointer of a launch.
struct KernelArgument {
  int array;  // Into Kernel::arrays.
  int64_t member = 0;
};

struct Kernel {
  std::string name;
  int64_t blocks = 1;
  int cluster = 1;  // So many adjacent blocks run together, and read each other's shared arrays. Divides `blocks`.
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
  std::vector<KernelArgument> Arguments() const;
  int64_t SharedBytes() const;
};

// How many values an instruction defines, from its result on.
int Results(const Instruction& instruction);

// Whether each thread has a result of its own, even of equal operands.
bool IsOwn(const Kernel& kernel, const Instruction& instruction);

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
