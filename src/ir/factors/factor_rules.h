// Rules for splitting an op over devices, listed in ir/ops.def. A rule names the factors of an op, which are the
// independent indices of its loops, and the factors of each dimension of its arrays.
//
//   f32[64,64] dot(f32[64,16], f32[16,64]), contracting 1 with 0   ([i,k],[k,j])->([i,j]) i=64 j=64 k:sum=16
//   f32[6,4] reshape(f32[24])                                      ([ij])->([i,j]) i=6 j=4
//
// A factor of size n may be cut into parts of ceil(n / devices) indices. Its kind defines the task of a part, and how
// the result follows from the parts. tests/ir/factors_laws_test.cpp checks this with the interpreter for each opcode.
// ir/factors/local_op.h gives the op of a part.
//
// A dimension of size 1 has no factors. A dimension of dynamic or unknown size has a factor of kind `whole`.
#ifndef HLO_IR_FACTORS_FACTOR_RULES_H_
#define HLO_IR_FACTORS_FACTOR_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.h"
#include "ir/attrs.h"
#include "ir/opcode.h"

namespace hlo {

enum class FactorKind : uint8_t {
  kFree,    // Parts are independent. Results with the factor are joined. Other results are the same in all parts.
  kSum,     // Only operands have the factor. The reducer combines the results of the parts.
  kWindow,  // Like kFree, but a part reads the indices of operands that its windows cover.
  kLook,    // An index operand selects an operand element. The part with it has the result, others have zero bits.
  kPut,     // An index operand selects a result element. Parts without it ignore the update. Results are joined.
  kScan,    // Results are joined after the reducer combined each part with the totals of the parts before.
  kWhole,   // Must not be cut.
};
std::string_view ToString(FactorKind kind);

// The operand indices that the indices of a factor read: docs/ops.md#windows. The stride is negative if rising indices
// read falling ones. An operand may have several windows, which never share an element.
struct FactorWindow {
  int64_t operand = 0, dim = 0;
  WindowDim window;
};

// The operand that has the index of a look or put factor.
struct FactorIndex {
  int64_t operand = 0;
  // The index is this component of vectors along `vector_dim`. If the operand lacks this dimension, each element is an
  // index.
  int64_t component = 0, vector_dim = 0;
  int64_t width = 1;  // Adjacent elements that an index selects.
  // Whether indices are clamped to [0, size - width] of the whole dimension. Otherwise, indices out of range select
  // nothing.
  bool clamped = true;
};

struct Factor {
  int64_t size = 0;  // A kWindow has the size of the result's dimension.
  FactorKind kind = FactorKind::kWhole;
  // Combines the parts of a kSum or kScan by element. kTopK applies to the concatenated results. If a kSum has none,
  // the op's own computation combines the parts in order.
  std::optional<Opcode> reducer;
  // Operands that only the first part of a kSum or kScan uses (the last part of a reverse scan). In the others they are
  // the reducer's identity.
  std::vector<int64_t> used_once;
  // A kWindow has windows. A kSum has windows if its indices are positions in a convolution's kernel, which is stored
  // from the end if the window is reversed.
  std::vector<FactorWindow> windows;
  std::optional<FactorIndex> index;  // For kLook and kPut.
};

using DimFactors = InlineVector<uint16_t, 4>;  // Factors of a dimension, the major one first.
using LeafFactors = std::vector<DimFactors>;   // One list for each dimension.

struct FactorRule {
  std::vector<Factor> factors;
  std::vector<std::vector<LeafFactors>> operands;  // Indexed by operand and leaf.
  std::vector<LeafFactors> result;                 // Indexed by leaf.
  // Set if called computations relate operands and result. The lists above are then empty.
  bool edges = false;
  // The reason why dimensions are whole although a part would have a meaning, or "".
  std::string why_whole;

  // "([i,k],[k,j])->([i,j]) i=64 j=64 k:sum=16". Letters begin at i. Leaves of a tuple are in parentheses.
  std::string ToString() const;
};

FactorRule FactorsOf(const Instruction& inst);

// The rules of ops, to which FactorsOf adds the rule for dynamic dimensions. Only the table and FactorsOf call them.
FactorRule FactorsOfBatchNorm(const Instruction& inst);
FactorRule FactorsOfBitcast(const Instruction& inst);
FactorRule FactorsOfBitcastConvert(const Instruction& inst);
FactorRule FactorsOfBroadcast(const Instruction& inst);
FactorRule FactorsOfCalls(const Instruction& inst);
FactorRule FactorsOfCollective(const Instruction& inst);
FactorRule FactorsOfConcatenate(const Instruction& inst);
FactorRule FactorsOfConvolution(const Instruction& inst);
FactorRule FactorsOfCustomCall(const Instruction& inst);
FactorRule FactorsOfDimensionSize(const Instruction& inst);
FactorRule FactorsOfDot(const Instruction& inst);
FactorRule FactorsOfDynamicReshape(const Instruction& inst);
FactorRule FactorsOfDynamicSlice(const Instruction& inst);
FactorRule FactorsOfElementwise(const Instruction& inst);
FactorRule FactorsOfFft(const Instruction& inst);
FactorRule FactorsOfGather(const Instruction& inst);
FactorRule FactorsOfIdentity(const Instruction& inst);
FactorRule FactorsOfMap(const Instruction& inst);
FactorRule FactorsOfMatrices(const Instruction& inst);
FactorRule FactorsOfPad(const Instruction& inst);
FactorRule FactorsOfPooling(const Instruction& inst);
FactorRule FactorsOfProcessId(const Instruction& inst);
FactorRule FactorsOfRaggedDot(const Instruction& inst);
FactorRule FactorsOfReduce(const Instruction& inst);
FactorRule FactorsOfReshape(const Instruction& inst);
FactorRule FactorsOfResult(const Instruction& inst);
FactorRule FactorsOfReverse(const Instruction& inst);
FactorRule FactorsOfRng(const Instruction& inst);
FactorRule FactorsOfScan(const Instruction& inst);
FactorRule FactorsOfScatter(const Instruction& inst);
FactorRule FactorsOfShuffle(const Instruction& inst);
FactorRule FactorsOfSlice(const Instruction& inst);
FactorRule FactorsOfSort(const Instruction& inst);
FactorRule FactorsOfStarted(const Instruction& inst);
FactorRule FactorsOfTopK(const Instruction& inst);
FactorRule FactorsOfTransfer(const Instruction& inst);
FactorRule FactorsOfTranspose(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_FACTORS_FACTOR_RULES_H_
