// A computation of scalars, applied to many sets of operands at once: each value of it is a run of up to kLanes
// elements. reduce, reduce-window, scatter, select-and-scatter, map, sort and scan evaluate their computations this
// way. What is made of elementwise ops, constants, calls and tuples runs block by block; anything else falls back to
// one interpretation for each element.
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

  // Types of the results: one, or those of the root tuple.
  const std::vector<PrimitiveType>& results() const { return results_; }
  const std::vector<PrimitiveType>& parameters() const { return parameter_types_; }
  int64_t parameter_count() const { return static_cast<int64_t>(parameter_types_.size()); }

  // Room for the values of one run; one for each thread, which may run many times with it.
  struct Scratch {
    std::vector<std::byte> bytes;
  };

  // count <= kLanes elements. `in` by parameter number, in memory form; `out[i]` may be exactly one of `in`.
  Status Run(const std::byte* const* in, std::byte* const* out, int64_t count, Scratch& scratch) const;

  // The one op that the body is, applied to parameters 0 and 1 in this order; null if it is anything else.
  const ElementwiseOp* AsBinary() const { return binary_ ? &steps_[0].op : nullptr; }
  // The opcode of AsBinary, or of a body that is one op on parameters 1 and 0; kTuple if it is anything else.
  Opcode BinaryOpcode() const { return binary_opcode_; }
  // A body that is one `compare` of parameters 0 and 1 in this order; null otherwise.
  const Instruction* AsComparison() const { return comparison_; }
  // A body that gives back its parameter `i`; -1 otherwise.
  int64_t AsParameter() const { return as_parameter_; }

 private:
  // Where a value is: a parameter, a constant (kLanes copies), or the register of a step.
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
  bool blocks_ = false;  // Steps are filled in; otherwise each element is interpreted.
  std::vector<Step> steps_;
  std::vector<std::vector<std::byte>> constants_;
  std::vector<PrimitiveType> parameter_types_, results_;
  std::vector<Source> outputs_;
  bool binary_ = false;
  Opcode binary_opcode_ = Opcode::kTuple;
  const Instruction* comparison_ = nullptr;
  int64_t as_parameter_ = -1;
};

// A body that folds values into accumulators has to take `arrays` of each, of the types of these literals, and give
// accumulators back; in mixed precision the types of text may differ, which is not supported.
Status CheckBody(const Instruction& inst, const ScalarBody& body, size_t arrays, std::span<const Literal> accumulators,
                 std::span<const Literal> values);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_SCALAR_BODY_H_
