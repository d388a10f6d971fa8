// A kernel between the builder (builder.h) and the two lowerings (nvptx.h, host.h).
//
// A kernel is a tree of regions. An instruction runs once for each block, warp or thread, according to its region's
// level:
//
//   block level    the body of the kernel, and the bodies of kLoop, kWhile and kIf in it
//   warp level     the body of kWarps, and of kLoop and kIf in it
//   thread level   the bodies of kPhase and kTile, and everything below them
//
// A value may be used in its own region after its definition, and in nested regions.
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
  // The type of index arithmetic. Values never overflow, and are never negative when divided. 32 bits on the GPU unless
  // the kernel needs more (wide_index), 64 bits on the host.
  kIndex,
};

std::string_view ToString(Type type);
int Bits(Type type);  // kIndex has 64.
int Bytes(Type type);
constexpr bool IsFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kF64; }
constexpr bool IsSigned(Type type) { return (type >= Type::kS1 && type <= Type::kS64) || type == Type::kIndex; }
constexpr bool IsUnsigned(Type type) { return type >= Type::kU1 && type <= Type::kU64; }
constexpr bool IsInteger(Type type) { return IsSigned(type) || IsUnsigned(type); }
constexpr bool IsSmallFloat(Type type) { return type >= Type::kF4E2M1FN && type <= Type::kBF16; }
constexpr bool IsByteFloat(Type type) { return type >= Type::kF4E2M1FN && type < Type::kF16; }
// Whether values are computed as s8 or u8 and then wrapped.
constexpr bool IsSubByte(Type type) {
  return (type >= Type::kS1 && type <= Type::kS4) || (type >= Type::kU1 && type <= Type::kU4);
}

constexpr int kWarpSize = 32;
// Indices from this one on need 64 bits. The margin allows rounding up to whole tiles and blocks.
constexpr int64_t kLeastWideIndex = (int64_t{1} << 31) - (1 << 20);

enum class Op : uint8_t {
#define HLO_KERNEL_OP(Name, ...) k##Name,
#include "gpu/kernel/kernel_ops.def"
};

enum Effects : uint8_t {
  kNoEffects = 0,
  kReads = 1,  // Reads array number imm.
  kWrites = 2,
  kState = 4,  // Uses slots or variables.
  // These threads synchronise, so the op must not be in divergent code.
  kMeets = 8,       // All threads of the block.
  kWarpMeets = 16,  // All threads of the warp.
};
// Whether the result is the same for all threads if the operands are. kOfVariable: this depends on the variable's
// level.
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
  std::vector<int32_t> arguments;
  std::vector<Instruction> body;
  std::vector<int32_t> yields;
};

struct Instruction {
  Op op;
  Type type = Type::kPred;
  int32_t result = -1;     // Number of the first result. Others have the next numbers.
  int32_t source = -1;     // Index in Kernel::sources.
  int32_t statement = -1;  // A number that PlaceBarriers assigns.
  int64_t imm = 0;
  int64_t imm2 = 0;
  std::vector<int32_t> operands;
  std::vector<int32_t> slots;
  std::vector<Region> regions;
};

enum class ArrayKind : uint8_t {
  kInput,   // Not written during the launch, unless may_alias.
  kOutput,  // Written and never read.
  kInOut,
  kShared,  // One for each block, undefined at the block's start.
  kTable,
};

struct ArrayInfo {
  std::string name;
  ArrayKind kind;
  Type type;
  int64_t elements;
  int64_t alignment;  // In bytes.
  bool may_alias = false;
  int64_t pitch = 0;           // kShared: the stride of a tile's rows. 0 if the array is not a tile.
  std::vector<int64_t> table;  // kTable: the bits of the elements.
  // Number of arrays in a group, with a pointer each. 0 for a single array. `elements` is the size of the group's
  // largest array.
  int64_t members = 0;
  // The sizes of the members. If empty, the input array with the number `sizes` (kS64) contains them.
  std::vector<int64_t> member_elements;
  int32_t sizes = -1;

  bool IsParameter() const { return kind <= ArrayKind::kInOut; }
  int64_t AllElements() const;  // The sum over members. With `sizes`, an upper bound.
};

enum class Level : uint8_t { kBlock, kWarp, kThread };

// A matrix in the lanes of a warp (mma.h).
enum class MmaShape : uint8_t { kF16, kBF16, kTF32, kS8 };
enum class FragmentRole : uint8_t { kLeft, kRight, kSum };
struct FragmentKind {
  MmaShape shape;
  FragmentRole role;
  bool operator==(const FragmentKind&) const = default;
};

struct SlotInfo {
  Type type;
  int width;
  Level level;  // kBlock or kWarp.
  std::optional<FragmentKind> fragment = std::nullopt;
};

struct VariableInfo {
  Type type;
  Level level;
};

struct KernelArgument {
  int array;
  int64_t member = 0;
};

struct Kernel {
  std::string name;
  int64_t blocks = 1;
  // Adjacent blocks that run together and can read each other's shared arrays. Divides `blocks`.
  int cluster = 1;
  int threads = kWarpSize;
  int min_blocks_per_sm = 0;      // 0 if not specified.
  bool wide_index = false;        // An index can reach kLeastWideIndex.
  std::vector<ArrayInfo> arrays;  // Parameters in argument order, and other arrays.
  std::vector<SlotInfo> slots;
  std::vector<VariableInfo> variables;
  std::vector<std::string> sources;
  int32_t values = 0;
  Region body;

  int warps() const { return threads / kWarpSize; }
  std::vector<int> Parameters() const;
  std::vector<KernelArgument> Arguments() const;
  int64_t SharedBytes() const;
};

int Results(const Instruction& instruction);

// Whether threads may have different results even for equal operands.
bool IsOwn(const Kernel& kernel, const Instruction& instruction);

std::string ToString(const Kernel& kernel);

// A hash of all but names and sources. Kernels with equal hashes may share compiled code.
struct KernelHash {
  uint64_t high = 0, low = 0;
  auto operator<=>(const KernelHash&) const = default;
  std::string ToString() const;
};
KernelHash Hash(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_KERNEL_H_
