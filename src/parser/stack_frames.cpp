#include "parser/stack_frames.h"

#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

template <class T>
int64_t Added(const T& item, std::vector<T>& list, std::map<T, int64_t>& ids) {
  const auto [place, is_new] = ids.try_emplace(item, static_cast<int64_t>(list.size()) + 1);
  if (is_new) list.push_back(item);
  return place->second;
}

template <class T>
const T* Find(const std::vector<T>& list, int64_t id) {
  return id >= 1 && id <= static_cast<int64_t>(list.size()) ? &list[id - 1] : nullptr;
}

template <class Struct>
std::string FieldsText(const Struct& value) {
  std::vector<std::string> parts;
  ForEachField<Struct>([&](const auto& field) { parts.push_back(Str(field.name, "=", value.*field.member)); });
  return Str("{", Join(parts, " "), "}");
}

}  // namespace

std::string ToString(const StackFrameTables& tables) {
  if (tables.stack_frames.empty()) return "";
  std::string out;
  const auto section = [&](std::string_view title, const auto& items, const auto& text) {
    out += Str(out.empty() ? "" : "\n", title, "\n");
    for (size_t i = 0; i < items.size(); ++i) out += Str(i + 1, " ", text(items[i]), "\n");
  };
  section("FileNames", tables.file_names, [](const std::string& name) { return Quoted(name); });
  section("FunctionNames", tables.function_names, [](const std::string& name) { return Quoted(name); });
  section("FileLocations", tables.file_locations, FieldsText<FileLocation>);
  section("StackFrames", tables.stack_frames, FieldsText<StackFrame>);
  return out;
}

int64_t StackFrameInterner::InternLocation(int64_t id) {
  const FileLocation* location = Find(written_.file_locations, id);
  if (location == nullptr) return 0;
  FileLocation copy = *location;
  const std::string* file = Find(written_.file_names, location->file_name_id);
  const std::string* function = Find(written_.function_names, location->function_name_id);
  copy.file_name_id = file == nullptr ? 0 : Added(*file, kept_.file_names, file_names_);
  copy.function_name_id = function == nullptr ? 0 : Added(*function, kept_.function_names, function_names_);
  return Added(copy, kept_.file_locations, file_locations_);
}

int64_t StackFrameInterner::Intern(int64_t id) {
  const auto count = static_cast<int64_t>(written_.stack_frames.size());
  new_id_.resize(count + 1);
  std::vector<int64_t> chain;
  int64_t at = id;
  for (; at >= 1 && at <= count && new_id_[at] == 0; at = written_.stack_frames[at - 1].parent_frame_id - 1) {
    if (static_cast<int64_t>(chain.size()) == count) return 0;
    chain.push_back(at);
  }
  if (at < 0 || at > count) return 0;
  int64_t parent = new_id_[at];
  for (; !chain.empty(); chain.pop_back()) {
    const StackFrame& frame = written_.stack_frames[chain.back() - 1];
    const StackFrame copy = {InternLocation(frame.file_location_id), parent + 1};
    parent = new_id_[chain.back()] = Added(copy, kept_.stack_frames, stack_frames_);
  }
  return parent;
}

}  // namespace hlo
