// A scalar computation, as in reduce, sort and map, applied to blocks of up to kLanes elements. Computations of
// elementwise ops, constants, calls and tuples run in blocks. Others are interpreted for each element.
#ifndef HLO_INTERP_OPS_SCALAR_BODY_H_
#define HLO_INTERP_OPS_SCALAR_BODY_H_

#include <memory>
#include <span>
#include <vector>

#include "interp/evaluation.h"
#include "interp/ops/elementwise.h"

namespace hlo {

class ScalarBody {
 public:
  static constexpr int64_t kLanes = 512;

  static Result<std::unique_ptr<ScalarBody>> Make(const Computation& computation, const InterpretOptions& options,
                                                  int nesting);

  const std::vector<PrimitiveType>& results() const { return results_; }
  const std::vector<PrimitiveType>& parameters() const { return parameter_types_; }
  int64_t parameter_count() const { return static_cast<int64_t>(parameter_types_.size()); }

  // Memory for one run. Each thread needs its own.
  struct Scratch {
    std::vector<std::byte> bytes;
  };

  // Runs at most kLanes elements. `in` has an array for each parameter and `out` for each result, in memory form. They
  // may share arrays.
  Status Run(const std::byte* const* in, std::byte* const* out, int64_t count, Scratch& scratch) const;

  // AsBinary is null unless the body is one op on parameters 0 and 1, AsComparison unless that op is a compare.
  // BinaryOpcode allows both orders, and is kTuple for other bodies.
  const ElementwiseOp* AsBinary() const { return binary_ ? &steps_[0].op : nullptr; }
  Opcode BinaryOpcode() const { return binary_opcode_; }
  const Instruction* AsComparison() const { return comparison_; }
  // The parameter that the body returns, or -1.
  int64_t AsParameter() const { return as_parameter_; }

 private:
  // The place of a value. A constant has kLanes copies. The result of each step is in a register, an array of kLanes
  // elements.
  struct Source {
    enum Kind { kParameter, kConstant, kRegister } kind = kParameter;
    int64_t index = 0;
  };
  struct Step {
    ElementwiseOp op;
    Source operands[ElementwiseOp::kMaxOperands];
    int operand_count = 0;
  };

  Status Compile(const Computation& computation);
  Status RunEach(const std::byte* const* in, std::byte* const* out, int64_t count) const;

  const Computation* computation_ = nullptr;
  InterpretOptions options_;
  int nesting_ = 0;
  bool blocks_ = false;  // Otherwise each element is interpreted.
  std::vector<Step> steps_;
  std::vector<std::vector<std::byte>> constants_;
  std::vector<PrimitiveType> parameter_types_, results_;
  std::vector<Source> outputs_;
  bool binary_ = false;
  Opcode binary_opcode_ = Opcode::kTuple;
  const Instruction* comparison_ = nullptr;
  int64_t as_parameter_ = -1;
};

// Checks that a body takes `arrays` accumulators and values of these types and returns accumulators. Mixed precision is
// not supported.
Status CheckBody(const Instruction& inst, const ScalarBody& body, size_t arrays, std::span<const Literal> accumulators,
                 std::span<const Literal> values);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_SCALAR_BODY_H_
