// Source locations in the user's program.
#ifndef HLO_DRIVER_INSPECT_SOURCE_PLACE_H_
#define HLO_DRIVER_INSPECT_SOURCE_PLACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {

class SourcePlaces {
 public:
  // For the instructions of `module`, or of modules extracted from it with the same stack frame tables.
  explicit SourcePlaces(const Module& module);

  // "model.py:12", from source_file and source_line of the metadata, otherwise from the innermost frame of
  // stack_frame_id, otherwise the place of the computation's only caller. "" if unknown.
  std::string PlaceOf(const Instruction& inst) const;

  // The calls that lead to `inst`, such as "model.py:80", the outermost first. The last call is PlaceOf(inst).
  std::vector<std::string> CallsOf(const Instruction& inst) const;

 private:
  struct Frame {
    int64_t location = 0, parent = 0;
  };
  std::string TextOf(int64_t frame) const;

  std::map<const Computation*, const Instruction*> callers_;  // Null if there are several.
  std::vector<std::string> files_;                            // Indexed by id - 1, like `locations_` and `frames_`.
  std::vector<std::pair<int64_t, int64_t>> locations_;
  std::vector<Frame> frames_;
};

// The instruction whose metadata shows the origin of `inst`: `inst` itself if it has metadata. For a fusion without
// metadata: the first result with metadata, otherwise the last inner loop or fusion with metadata.
const Instruction& WithOrigin(const Instruction& inst, const SourcePlaces& places);

std::string SourceOf(const Instruction& inst, const SourcePlaces& places);

std::string NameWithSource(const Instruction& inst, const Module& module);

// Source and op_name for the end of a line, as far as known: " model.py:12 op_name="jit(f)/mul"". `inst` must be in a
// module.
std::string SourceAtEnd(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_SOURCE_PLACE_H_
