#include "driver/inspect/source_place.h"

#include <string_view>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

int64_t FieldOf(std::string_view entry, std::string_view name) {
  int64_t value = 0;
  const size_t at = entry.find(Str(name, "="));
  if (at == std::string_view::npos) return 0;
  std::string_view text = entry.substr(at + name.size() + 1);
  ParseInt(text.substr(0, text.find_first_of(" }")), &value);
  return value;
}

template <class T>
const T* Find(const std::vector<T>& items, int64_t id) {
  return id >= 1 && id <= std::ssize(items) ? &items[id - 1] : nullptr;
}

}  // namespace

// Reads the text of parser/stack_frames.h: for each section a title, then "ID ENTRY" with ids from 1.
SourcePlaces::SourcePlaces(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kCall)) continue;
      const auto [caller, is_first] = callers_.try_emplace(CalledComputations(*inst).front(), inst);
      if (!is_first) caller->second = nullptr;
    }
  }
  std::string_view section;
  for (const std::string_view line : Split(module.header.stack_frames, '\n')) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      if (!line.empty()) section = line;
      continue;
    }
    const std::string_view entry = line.substr(blank + 1);
    if (section == "FileNames") files_.emplace_back(entry.substr(1, entry.size() - 2));
    if (section == "FileLocations") locations_.emplace_back(FieldOf(entry, "file_name_id"), FieldOf(entry, "line"));
    // The text has the parent's id plus 1 (docs/language.md#stack-frames).
    if (section == "StackFrames")
      frames_.push_back({FieldOf(entry, "file_location_id"), FieldOf(entry, "parent_frame_id") - 1});
  }
}

std::string SourcePlaces::PlaceOf(const Instruction& inst) const {
  const Metadata& metadata = inst.metadata();
  if (!metadata.source_file.empty()) return Str(metadata.source_file, ":", metadata.source_line);
  std::string text = TextOf(metadata.stack_frame_id);
  if (!text.empty()) return text;
  const auto caller = callers_.find(&inst.computation());
  return caller == callers_.end() || caller->second == nullptr ? "" : PlaceOf(*caller->second);
}

std::string SourcePlaces::TextOf(int64_t id) const {
  const Frame* const frame = Find(frames_, id);
  const auto* const location = frame != nullptr ? Find(locations_, frame->location) : nullptr;
  const std::string* const file = location != nullptr ? Find(files_, location->first) : nullptr;
  return file != nullptr ? Str(*file, ":", location->second) : "";
}

std::vector<std::string> SourcePlaces::CallsOf(const Instruction& inst) const {
  std::vector<std::string> calls = {PlaceOf(inst)};
  if (!inst.metadata().source_file.empty()) return calls;
  const Frame* frame = Find(frames_, inst.metadata().stack_frame_id);
  // The tables of a foreign file may have a cycle.
  for (size_t depth = 0; frame != nullptr && depth < frames_.size(); ++depth) {
    const int64_t parent = frame->parent;
    frame = Find(frames_, parent);
    if (frame != nullptr) calls.insert(calls.begin(), TextOf(parent));
  }
  return calls;
}

const Instruction& WithOrigin(const Instruction& inst, const SourcePlaces& places) {
  const auto says = [&](const Instruction& one) {
    return !one.metadata().op_name.empty() || !places.PlaceOf(one).empty();
  };
  if (says(inst) || !IsFusion(inst)) return inst;
  for (const Instruction* root : FusionRoots(inst)) {
    if (says(*root)) return *root;
  }
  // The results of a region are tuple elements without metadata, so the loops and fusions inside are searched.
  const std::vector<Instruction*> inside = FusedComputation(inst).PostOrder();
  for (size_t i = inside.size(); i-- > 0;) {
    if (!IsFusion(*inside[i]) && !inside[i]->Is(kControl)) continue;
    const Instruction& one = WithOrigin(*inside[i], places);
    if (says(one)) return one;
  }
  return inst;
}

std::string SourceOf(const Instruction& inst, const SourcePlaces& places) {
  const Instruction& said = WithOrigin(inst, places);
  const std::string place = places.PlaceOf(said);
  return Str(place, place.empty() ? "" : "  ", said.metadata().op_name);
}

std::string NameWithSource(const Instruction& inst, const Module& module) {
  const SourcePlaces places(module);
  const std::string place = places.PlaceOf(WithOrigin(inst, places));
  return Str("'", inst.name(), "'", place.empty() ? "" : Str(" (", place, ")"));
}

std::string SourceAtEnd(const Instruction& inst) {
  const SourcePlaces places(inst.module());
  const Instruction& said = WithOrigin(inst, places);
  const std::string place = places.PlaceOf(said);
  const std::string_view op_name = said.metadata().op_name;
  return Str(place.empty() ? "" : Str("  ", place), op_name.empty() ? "" : Str("  op_name=\"", op_name, "\""));
}

}  // namespace hlo
