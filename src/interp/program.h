// A computation prepared for execution: its instructions in order, the slots of their values, and last uses.
#ifndef HLO_INTERP_PROGRAM_H_
#define HLO_INTERP_PROGRAM_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

struct Use {
  int slot;
  bool last;  // The last use of the slot.
};

struct Step {
  const Instruction* inst = nullptr;
  Handler handler = nullptr;
  std::vector<Use> operands;
  std::vector<int> dead;  // Slots to free when the operands are read.
  int result = 0;         // Slot.
  bool unused = false;    // The value is unused; executed for its effect or for an observer.
  bool given = false;     // InterpretOptions::given provides the value.
  bool dynamic = false;   // MayBeDynamic: operands and results of a frame are checked.
  // A get-tuple-element that can move the element, because each element of the tuple is read only once.
  bool take_element = false;
};

struct Program {
  std::vector<Step> steps;      // The instructions that the root needs, and those with side effects.
  std::vector<int> parameters;  // Slot of each parameter; -1 if unused.
  int root = 0;
  bool dynamic_root = false;  // The root's value may be smaller than its shape.
  int slots = 0;
};

class Programs {
 public:
  explicit Programs(const InterpretOptions& options) : options_(options) {}
  const Program& ProgramOf(const Computation& computation);

 private:
  const InterpretOptions& options_;
  std::unordered_map<const Computation*, std::unique_ptr<Program>> programs_;
};

// A program of one instruction. Operand i is in slot i.
Program ProgramOf(const Instruction& inst);

// The planned peak of live bytes, and the instruction with the largest value.
struct Peak {
  int64_t bytes = 0;
  const Instruction* largest = nullptr;
};
Peak PlannedPeak(const Computation& computation);

// Whether the target of a custom call is supported.
bool IsKnownCustomCall(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_PROGRAM_H_
