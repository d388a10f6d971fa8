// One instruction: an opcode applied to operands, with a shape and attributes. There is one class for all opcodes.
//
// Ownership: a Module owns Computations, a Computation owns Instructions; pointers and references elsewhere are
// borrowed. Uses change only through Computation::Add, SetOperand, ReplaceAllUses and Computation::Remove.
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
  std::string_view name() const { return {name_, name_size_}; }  // As long as the module lives.
  const Shape& shape() const { return shape_; }
  // What was said of each leaf (sharding, origin, parameter_replication) and the origin go when the tree of leaves or
  // their dimensions change: it is another value.
  void SetShape(Shape shape);

  // Dense in the module, never reused: side tables are vectors by id, of Module::id_limit() entries.
  int id() const { return id_; }
  // Dense in the computation, removed ones counted, until Module::Sweep or Computation::SetOrder: side tables of one
  // computation are vectors by place, of Computation::place_limit() entries.
  int place() const { return place_; }

  // The instruction of the pipeline's input module whose value this one has, by that module's id; -1 when there is
  // none. ReplaceAllUses hands it on, since "use that instead of this" says that the values are equal. The comparator
  // cuts both modules at instructions that passes kept (docs/comparison.md#passes).
  int origin() const { return origin_; }
  void SetOrigin(int origin) { origin_ = origin; }

  std::span<Instruction* const> operands() const { return operands_.list(); }
  Instruction& operand(int64_t i) const { return *operands_.list()[i]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.list().size()); }
  void SetOperand(int64_t i, Instruction& operand);

  // Each user once, in the order in which they began to use this.
  Users users() const { return users_.users(); }
  // The operand positions of all users that hold this; a user of both sides of an add counts twice.
  int64_t UseCount() const { return use_count_; }
  bool IsRoot() const;
  bool IsDead() const { return users_.empty() && !IsRoot(); }
  // Every user takes `replacement` instead, and so does the computation's root. `replacement` takes over the origin.
  // Shapes must be compatible (layouts may differ).
  void ReplaceAllUses(Instruction& replacement);

  // Earlier instructions of the computation that must run first, though no value flows.
  std::span<Instruction* const> control_predecessors() const {
    return control_predecessors_ != nullptr ? std::span<Instruction* const>(*control_predecessors_)
                                            : std::span<Instruction* const>();
  }
  void AddControlPredecessor(Instruction& before);
  void ClearControlPredecessors();

  // The attributes; the kind must be that of the opcode's row.
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

  const CommonAttrs& common() const;  // Defaults when nothing was said.
  CommonAttrs& mutable_common();
  void SetCommon(CommonAttrs common);
  bool HasCommon() const { return common_ != nullptr; }
  const Metadata& metadata() const { return common().metadata; }

  // Shorthands for what is asked all the time.
  int64_t parameter_number() const { return attrs<ParameterAttrs>().number; }
  const Literal& literal() const { return attrs<ConstantAttrs>().literal; }  // Known for kConstant.
  void SetLiteral(Literal literal);  // kElidedConstant becomes kConstant when it is known.
  const std::vector<int64_t>& dimensions() const {
    return attrs<DimensionsAttrs>().dimensions;
  }  // broadcast, transpose, reverse
  int64_t tuple_index() const { return attrs<IndexAttrs>().index; }
  // A constant, scalar or splat, equal to `value`; or a broadcast of one.
  bool IsConstantOf(double value) const;

  Computation& computation() const { return *computation_; }
  Module& module() const;

  // Where it stood in the text; one made by a pass inherits it from the instruction it came from.
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

  // Four cache lines: what a walk over operands reads, what one over users and changes of them read, the rest.
  Opcode opcode_;
  bool removed_ = false;
  int id_;
  int place_ = 0;
  int origin_ = -1;
  OperandList operands_;
  std::unique_ptr<std::vector<Instruction*>> control_predecessors_;  // Few have any.

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

// The computations that the instruction's attributes name, in field order (while: condition, body).
std::vector<Computation*> CalledComputations(const Instruction& inst);
// f(Computation*&) for each of them, to redirect.
void ForEachCalled(Attributes& attrs, const std::function<void(Computation*&)>& f);

// The same opcode, attributes and shape (layouts too); operands, names and metadata are not looked at. Called
// computations must be the same ones.
bool SameOperation(const Instruction& a, const Instruction& b);
uint64_t HashOperation(const Instruction& inst);

// An error at the instruction, with the module's source.
Error ErrorAt(const Instruction& inst, std::string code, std::string message, ExitCode exit = ExitCode::kRejected);
Error UnsupportedAt(const Instruction& inst, std::string code, std::string message);

}  // namespace hlo

#endif  // HLO_IR_INSTRUCTION_H_
