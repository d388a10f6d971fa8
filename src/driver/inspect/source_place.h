// Where in somebody's program an instruction comes from.
#ifndef HLO_DRIVER_INSPECT_SOURCE_PLACE_H_
#define HLO_DRIVER_INSPECT_SOURCE_PLACE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {

class SourcePlaces {
 public:
  // Of the instructions of `module`, or of pieces of it, which have its tables of stack frames.
  explicit SourcePlaces(const Module& module);

  // "model.py:12": by source_file and source_line of the metadata, else by the innermost of the frames that
  // stack_frame_id stands for. "" where neither is there.
  std::string Of(const Instruction& inst) const;

  // The calls that lead to it, "model.py:80", the outermost first; the last one is Of.
  std::vector<std::string> CallsOf(const Instruction& inst) const;

 private:
  struct Frame {
    int64_t location = 0, parent = 0;  // Ids; a parent of 0: none.
  };
  std::string TextOf(int64_t frame) const;  // "" where the tables do not have it.

  std::vector<std::string> files_;                      // By id - 1, as all three.
  std::vector<std::pair<int64_t, int64_t>> locations_;  // File and line.
  std::vector<Frame> frames_;
};

// The instruction whose metadata tells the origin of `inst`: `inst` itself; else, in a fusion, the first of its results
// that has metadata; else the last loop or fusion inside that has.
const Instruction& WithOrigin(const Instruction& inst, const SourcePlaces& places);

// "model.py:12  jit(f)/mul", as far as it is known, of WithOrigin.
std::string SourceOf(const Instruction& inst, const SourcePlaces& places);

// "'log.3' (model.py:12)": the name of an instruction of `module`, and the line of the source program if the metadata
// has it.
std::string NameWithSource(const Instruction& inst, const Module& module);

// "  model.py:12  op_name="jit(f)/mul"" at the end of a line, as far as the metadata has it. `inst` is in a module.
std::string SourceAtEnd(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_SOURCE_PLACE_H_
