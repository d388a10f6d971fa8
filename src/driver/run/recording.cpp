#include "driver/run/recording.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "base/source_text.h"
#include "driver/bundle.h"
#include "parser/input_format.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

// Reads only the first bytes, because texts may be large.
bool HoldsProto(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, 4096> start;
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return IsProto(InputFormatOf({start.data(), static_cast<size_t>(file.gcount())}));
}

RecordedParts PartsIn(const std::string& file, const RunOptions& options) {
  if (!HoldsProto(file)) return {};
  const auto source = ReadSource(file, options.load.max_input);
  return source ? FindRecordedValues(*source) : RecordedParts();
}

}  // namespace

void TakeRecordedArguments(const std::string& path, RunOptions* options) {
  options->recorded_result = Recorded::kIgnored;
  TakeRecording(path, options);
}

void TakeRecording(const std::string& path, RunOptions* options) {
  if (options->recorded_arguments != Recorded::kWanted || !options->args.empty()) return;
  const std::string file = ModuleFile(path);
  const RecordedParts found = PartsIn(file, *options);
  if (found.is_snapshot && !found.arguments) options->recorded_arguments = Recorded::kMissing;
  if (!found.arguments && !found.result) return;
  if (found.arguments) {
    options->args = file;
    options->recorded_arguments = Recorded::kTaken;
  }
  const bool has_other = !options->reference_file.empty() ||
                         options->reference_platform != ReferencePlatform::kDefault || options->first_divergence;
  if (!found.result || has_other || options->recorded_result != Recorded::kWanted || !options->arg.empty()) return;
  options->reference_file = file;
  options->recorded_result = Recorded::kTaken;
  if (options->compare_mode == CompareMode::kAuto) options->compare_mode = CompareMode::kTolerance;
}

}  // namespace hlo
