// A computation prepared for running: its instructions in order, where their values lie, and when those are last used.
#ifndef HLO_INTERP_PROGRAM_H_
#define HLO_INTERP_PROGRAM_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

struct Use {
  int slot;
  bool last;  // Nothing reads the slot afterwards.
};

struct Step {
  const Instruction* inst = nullptr;
  Handler handler = nullptr;
  std::vector<Use> operands;
  std::vector<int> dead;      // Slots to empty when the operands are taken.
  int result = 0;             // Slot.
  bool unused = false;        // Run for its effect, or to be seen.
  bool given = false;         // InterpretOptions::given has the value.
  bool dynamic = false;       // MayBeDynamic: what a frame is given and gives is checked.
  bool take_element = false;  // get-tuple-element of a tuple that is only ever taken apart, each element once.
};

struct Program {
  std::vector<Step> steps;      // What the root needs, and what has side effects.
  std::vector<int> parameters;  // Slot by parameter number; -1 when nothing needs it.
  int root = 0;
  bool dynamic_root = false;  // Its value may be smaller than its shape.
  int slots = 0;
};

class Programs {
 public:
  explicit Programs(const InterpretOptions& options) : options_(options) {}
  const Program& Of(const Computation& computation);

 private:
  const InterpretOptions& options_;
  std::unordered_map<const Computation*, std::unique_ptr<Program>> programs_;
};

// One instruction alone; operand i is in slot i.
Program ProgramOf(const Instruction& inst);

// The planned peak of live bytes, and the instruction with the largest value of all.
struct Peak {
  int64_t bytes = 0;
  const Instruction* largest = nullptr;
};
Peak PlannedPeak(const Computation& computation);

// The target of a custom-call has a meaning here.
bool IsKnownCustomCall(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_PROGRAM_H_
