// The checks of the verifier, one file for each family. ir/verifier/verifier.cpp runs them in order.
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

// The violations found so far. Levels in ir/verifier/rules.def make them errors or warnings.
class Findings {
 public:
  Findings(const Module& module, VerifyLevel level)
      : module_(module),
        strict_(level == VerifyLevel::kStrict),
        wrong_(module.id_limit()),
        suspect_(module.computation_id_limit(), true) {}

  const Module& module() const { return module_; }
  // Instructions that make calls, are part of an asynchronous op, or have a buffer, in module order. Rules of the whole
  // module need them, and another walk would double their cost.
  std::span<const Instruction* const> notable() const { return notable_; }
  void AddNotable(const Instruction& inst) { notable_.push_back(&inst); }
  // False if the computation and its callees were valid and are unchanged (VerifyAgain).
  bool IsSuspect(const Computation& computation) const { return suspect_[computation.id()]; }
  void SetSuspect(const Computation& computation, bool suspect) { suspect_[computation.id()] = suspect; }
  bool strict() const { return strict_; }
  bool Full() const;  // Whether no more errors are kept.
  bool empty() const { return errors_.empty(); }

  bool IsWrong(const Instruction& inst) const { return wrong_[inst.id()]; }

  // Returns whether the violation is an error at this level.
  bool Add(Error error);
  bool Add(const Instruction& inst, Error error);
  void Add(const Instruction& inst, Status status);

  // Returns the errors and sets `warnings`, if not null, in the order of the text.
  Status Finish(std::vector<Diagnostic>* warnings);

 private:
  const Module& module_;
  bool strict_;
  std::vector<const Instruction*> notable_;
  std::vector<bool> wrong_;    // Indexed by instruction id.
  std::vector<bool> suspect_;  // Indexed by computation id.
  ExitCode exit_ = ExitCode::kRejected;
  std::vector<Diagnostic> errors_, warnings_;
};

// An error at the attribute `name` of the header.
Error ErrorInHeader(const Module& module, const char* code, std::string_view name, std::string message);

// Checks of one instruction.
Status CheckThreads(const Instruction& inst);
Status CheckComposite(const Instruction& inst);
Status CheckBranchShardings(const Instruction& inst);
Status CheckTokens(const Instruction& inst);
Status CheckCollective(const Instruction& inst);
Status CheckCustomCall(const Instruction& inst);
Status CheckBufferUse(const Instruction& inst);
Status CheckSharding(const Instruction& inst);
Status CheckLeafAttributes(const Instruction& inst);
Status CheckLayouts(const Instruction& inst);              // Only when strict.
Status CheckReshapeMovesNothing(const Instruction& inst);  // Only when strict, outside fusions.
Status CheckExtras(const Instruction& inst, bool strict);

// Checks of the module.
void CheckFusions(Findings& findings);
bool IsAsyncPart(const Instruction& inst);  // A start, update or done of any kind.
void CheckAsyncChains(Findings& findings);
void CheckLayoutConstraints(Findings& findings);
bool HasBuffer(const Shape& shape);
void CheckBufferWriters(Findings& findings);
void CheckHeader(Findings& findings);
// A message about the fault of a layout, or "".
std::string LayoutFault(const Shape& array);
void CheckDeadlocks(Findings& findings);  // Only when strict.
void CheckManualAxes(Findings& findings);
void FindWarnings(Findings& findings);
void FindDeviceWarnings(Findings& findings);

// A rule for output_to_operand_aliasing: the operands and tuple elements exist and have equal shapes.
struct AliasRule {
  const char* code;
  bool any_shape = false;  // Does not compare shapes.
};
Status CheckOperandAliases(const Instruction& inst, const OperandAliases& aliases, const AliasRule& rule);

const Shape* FindSubShape(const Shape& shape, const ShapeIndex& index);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_CHECKS_H_
