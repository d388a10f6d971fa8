// An instruction: an opcode applied to operands, with a shape and attributes.
//
// A Module owns Computations, which own Instructions. All other pointers and references are borrowed. Uses change only
// through Computation::Add, SetOperand, ReplaceAllUses and Computation::Remove.
#ifndef HLO_IR_INSTRUCTION_H_
#define HLO_IR_INSTRUCTION_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/opcode.h"
#include "ir/uses.h"

namespace hlo {

class Computation;
class Module;

class alignas(64) Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  bool Is(Opcode opcode) const { return opcode_ == opcode; }
  bool Is(OpTrait trait) const { return (RowOf(opcode_).traits & trait) != 0; }
  std::string_view name() const { return {name_, name_size_}; }  // Lives as long as the module.
  const Shape& shape() const { return shape_; }
  // If leaves or their dimensions change, clears origin() and the attributes with entries for leaves (sharding, origin,
  // parameter_replication), because the value is another one.
  void SetShape(Shape shape);

  // Dense in the module and never reused. Side tables have Module::id_limit() entries.
  int id() const { return id_; }
  // Index in the computation's list, which includes removed instructions. Module::Sweep and Computation::SetOrder
  // change it. Side tables have Computation::place_limit() entries.
  int place() const { return place_; }

  // The id of the instruction with the same value in the input module of the pipeline, or -1. ReplaceAllUses passes it
  // on to a replacement without one.
  int origin() const { return origin_; }
  void SetOrigin(int origin) { origin_ = origin; }

  std::span<Instruction* const> operands() const { return operands_.list(); }
  Instruction& operand(int64_t i) const { return *operands_.list()[i]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.list().size()); }
  void SetOperand(int64_t i, Instruction& operand);

  // Each user once, in the order of first uses.
  Users users() const { return users_.users(); }
  int64_t UseCount() const { return use_count_; }
  bool IsRoot() const;
  bool IsDead() const { return users_.empty() && !IsRoot(); }
  // Also replaces the computation's root. `replacement` takes over the origin if it has none. Shapes must be
  // compatible, except for layouts.
  void ReplaceAllUses(Instruction& replacement);

  // Instructions that must run first, although no value passes between them.
  std::span<Instruction* const> control_predecessors() const {
    return control_predecessors_ != nullptr ? std::span<Instruction* const>(*control_predecessors_)
                                            : std::span<Instruction* const>();
  }
  void AddControlPredecessor(Instruction& before);
  void ClearControlPredecessors();

  template <class A>
  const A& attrs() const {
    return attrs_.Get<A>();
  }
  template <class A>
  A& mutable_attrs() {
    return attributes().Get<A>();
  }
  const Attributes& attributes() const { return attrs_; }
  Attributes& attributes();

  const CommonAttrs& common() const;
  CommonAttrs& mutable_common();
  void SetCommon(CommonAttrs common);
  bool HasCommon() const { return common_ != nullptr; }
  const Metadata& metadata() const { return common().metadata; }

  int64_t parameter_number() const { return attrs<ParameterAttrs>().number; }
  // Known for kConstant, and elided for kElidedConstant.
  const Literal& literal() const { return attrs<ConstantAttrs>().literal; }
  void SetLiteral(Literal literal);
  const std::vector<int64_t>& dimensions() const { return attrs<DimensionsAttrs>().dimensions; }
  int64_t tuple_index() const { return attrs<IndexAttrs>().index; }
  // True for a scalar or splat constant equal to `value`, and its broadcast.
  bool IsConstantOf(double value) const;

  Computation& computation() const { return *computation_; }
  Module& module() const;

  // The place in the source text. Instructions of passes inherit the place of another instruction.
  SourceRange range() const { return range_; }
  void SetRange(SourceRange range) { range_ = range; }

  bool removed() const { return removed_; }

 private:
  friend class Computation;
  friend class Module;
  Instruction(Computation& computation, int id, Opcode opcode, Shape&& shape, std::string_view name,
              Attributes&& attrs);
  ~Instruction();

  void RemoveUser(Instruction& user);

  void SetName(std::string_view name);

  // The members fill four cache lines. The first is for walks over operands, the second for walks over users.
  Opcode opcode_;
  bool removed_ = false;
  int id_;
  int place_ = 0;
  int origin_ = -1;
  OperandList operands_;
  std::unique_ptr<std::vector<Instruction*>> control_predecessors_;

  UserList users_;
  Computation* computation_;
  CommonAttrs* common_ = nullptr;  // In the module's pool.

  Attributes attrs_;
  const char* name_ = nullptr;  // In the module's memory.
  uint32_t name_size_ = 0;
  int32_t use_count_ = 0;
  SourceRange range_;
  Shape shape_;
};

std::vector<Computation*> CalledComputations(const Instruction& inst);
void ForEachCalled(Attributes& attrs, const std::function<void(Computation*&)>& f);

// Compares opcode, attributes and shape with layout. Called computations must be identical objects.
bool SameOperation(const Instruction& a, const Instruction& b);
uint64_t HashOperation(const Instruction& inst);

Error ErrorAt(const Instruction& inst, std::string code, std::string message, ExitCode exit = ExitCode::kRejected);
Error UnsupportedAt(const Instruction& inst, std::string code, std::string message);

}  // namespace hlo

#endif  // HLO_IR_INSTRUCTION_H_
