// A computation prepared for execution: ordered instructions, slots of values, and last uses.
#ifndef HLO_INTERP_PROGRAM_H_
#define HLO_INTERP_PROGRAM_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

struct Use {
  int slot;
  bool last;
};

struct Step {
  const Instruction* inst = nullptr;
  Handler handler = nullptr;
  std::vector<Use> operands;
  std::vector<int> dead;  // Slots that are freed when the operands are read.
  int result = 0;
  bool unused = false;
  bool given = false;    // See InterpretOptions::given.
  bool dynamic = false;  // Sizes may be dynamic, so the interpreter checks operands and results.
  // A get-tuple-element that can move its element, because only such reads of different elements use the tuple.
  bool take_element = false;
};

struct Program {
  std::vector<Step> steps;
  std::vector<int> parameters;  // Slots, or -1 if unused.
  int root = 0;
  bool dynamic_root = false;  // The root may be smaller than its shape.
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

// A program of one step. Operand i is in slot i.
Program ProgramOf(const Instruction& inst);

// The peak of live bytes, and the instruction with the largest value.
struct Peak {
  int64_t bytes = 0;
  const Instruction* largest = nullptr;
};
Peak PlannedPeak(const Computation& computation);

bool IsKnownCustomCall(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_PROGRAM_H_
