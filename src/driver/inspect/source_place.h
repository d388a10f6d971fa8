// Source locations in the user's program.
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
  // Also for modules extracted from `module` with its stack frame tables.
  explicit SourcePlaces(const Module& module);

  // "model.py:12" from the metadata's source_file, otherwise from stack_frame_id's innermost frame. "" if unknown.
  std::string PlaceOf(const Instruction& inst) const;

  // Calls such as "model.py:80", the outermost first. The last is PlaceOf(inst).
  std::vector<std::string> CallsOf(const Instruction& inst) const;

 private:
  struct Frame {
    int64_t location = 0, parent = 0;  // Ids; 0 is none.
  };
  std::string TextOf(int64_t frame) const;  // "" for unknown frames.

  std::vector<std::string> files_;                      // By id - 1, like the next two.
  std::vector<std::pair<int64_t, int64_t>> locations_;  // File and line.
  std::vector<Frame> frames_;
};

// `inst` if it has metadata or is not a fusion. Otherwise the first result, or the last inner loop or fusion, with
// metadata.
const Instruction& WithOrigin(const Instruction& inst, const SourcePlaces& places);

// For example "model.py:12  jit(f)/mul" from WithOrigin.
std::string SourceOf(const Instruction& inst, const SourcePlaces& places);

// For example "'log.3' (model.py:12)".
std::string NameWithSource(const Instruction& inst, const Module& module);

// For example "  model.py:12  op_name="jit(f)/mul"", as far as known. `inst` must be in a module.
std::string SourceAtEnd(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_SOURCE_PLACE_H_
