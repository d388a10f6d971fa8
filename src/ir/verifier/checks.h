// The families of the verifier's rules, one file each, for ir/verifier/verifier.cpp, which runs them in order. A check
// of one instruction returns the first rule it breaks; a check of the module adds all it finds.
#ifndef HLO_IR_VERIFIER_CHECKS_H_
#define HLO_IR_VERIFIER_CHECKS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/verifier/verifier.h"

namespace hlo {

// What was found so far, sorted into errors and warnings by the table of ir/verifier/rules.def.
class Findings {
 public:
  Findings(const Module& module, VerifyLevel level)
      : module_(module),
        strict_(level == VerifyLevel::kStrict),
        wrong_(module.id_limit()),
        suspect_(module.computation_id_limit(), true) {}

  const Module& module() const { return module_; }
  // What the rules of the whole module look at, in its order: those that call computations, are part of something
  // asynchronous, or hold a buffer. A walk over all instructions costs as much as the rule.
  std::span<const Instruction* const> notable() const { return notable_; }
  void AddNotable(const Instruction& inst) { notable_.push_back(&inst); }
  // False: it is as it was when it was found valid, and so is all that it calls.
  bool IsSuspect(const Computation& computation) const { return suspect_[computation.id()]; }
  void SetSuspect(const Computation& computation, bool suspect) { suspect_[computation.id()] = suspect; }
  bool strict() const { return strict_; }
  bool Full() const;  // No more errors are wanted.
  bool empty() const { return errors_.empty(); }

  bool IsWrong(const Instruction& inst) const { return wrong_[inst.id()]; }

  // Takes the error over. True when it is one at this level.
  bool Add(Error error);
  bool Add(const Instruction& inst, Error error);
  void Add(const Instruction& inst, Status status);

  // All errors, in the order of the text; the warnings too when there is a place for them.
  Status Finish(std::vector<Diagnostic>* warnings);

 private:
  const Module& module_;
  bool strict_;
  std::vector<const Instruction*> notable_;
  std::vector<bool> wrong_;    // By instruction id.
  std::vector<bool> suspect_;  // By computation id.
  ExitCode exit_ = ExitCode::kRejected;
  std::vector<Diagnostic> errors_, warnings_;
};

// At the header's attribute `name`.
Error ErrorInHeader(const Module& module, const char* code, std::string_view name, std::string message);

// Of one instruction.
Status CheckThreads(const Instruction& inst);
Status CheckComposite(const Instruction& inst);
Status CheckBranchShardings(const Instruction& inst);
Status CheckTokens(const Instruction& inst);
Status CheckCollective(const Instruction& inst);
Status CheckCustomCall(const Instruction& inst);
Status CheckBufferUse(const Instruction& inst);
Status CheckSharding(const Instruction& inst);
Status CheckLeafAttributes(const Instruction& inst);
Status CheckLayouts(const Instruction& inst);              // Strict.
Status CheckReshapeMovesNothing(const Instruction& inst);  // Strict, outside of fusions.
Status CheckExtras(const Instruction& inst, bool strict);

// Of the module.
void CheckFusions(Findings& findings);
bool IsAsyncPart(const Instruction& inst);  // A start, update or done of any kind.
void CheckAsyncChains(Findings& findings);
void CheckLayoutConstraints(Findings& findings);
bool HasBuffer(const Shape& shape);
void CheckBufferWriters(Findings& findings);
void CheckHeader(Findings& findings);
// What is wrong with the layout of an array, with `f32[2,3]{0,0}` in it; "" when nothing is.
std::string LayoutFault(const Shape& array);
void CheckDeadlocks(Findings& findings);  // Strict.
void FindWarnings(Findings& findings);

// How many devices the groups or pairs of a collective name: the largest id and 1. 0 when it cannot be told.
int64_t DevicesNamed(const Instruction& inst);

// output_to_operand_aliasing: operands and parts exist, and have one shape.
struct AliasRule {
  const char* code;
  bool any_shape = false;  // Shapes are not compared.
};
Status CheckOperandAliases(const Instruction& inst, const OperandAliases& aliases, const AliasRule& rule);

// The value of a frontend attribute, or null. `frontend_attributes` is kept as written.
std::optional<std::string> FrontendAttribute(const Instruction& inst, std::string_view name);
std::optional<std::string> FrontendAttribute(const FrontendAttributes& attributes, std::string_view name);

// The subshape, or null.
const Shape* FindSubShape(const Shape& shape, const ShapeIndex& index);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_CHECKS_H_
