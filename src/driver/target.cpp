#include "driver/target.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/source_text.h"
#include "base/text.h"
#include "gpu/device/device.h"

namespace hlo {
namespace {

// Text format of protocol buffers: `name: value` or `name { ... }`.
struct ProtoField;
using ProtoMessage = std::vector<ProtoField>;
struct ProtoField {
  std::string name, value;
  SourceRange range;
  ProtoMessage message;
};

// Reads the subset that target configurations use.
class ProtoReader {
 public:
  explicit ProtoReader(std::shared_ptr<const SourceText> source) : source_(std::move(source)), text_(source_->text()) {}

  Result<ProtoMessage> Read() { return Message(0); }

  Error ErrorAt(SourceRange range, std::string message) const {
    Error error = Rejected("A017", std::move(message), range);
    error.source = source_;
    return error;
  }

 private:
  SourceRange Here() const {
    const auto begin = static_cast<uint32_t>(std::min(next_, text_.size()));
    return {begin, begin + 1};
  }

  void SkipBlanks() {
    while (next_ < text_.size()) {
      const char c = text_[next_];
      if (c == '#') {
        while (next_ < text_.size() && text_[next_] != '\n') ++next_;
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == ',' || c == ';') {
        ++next_;
      } else {
        return;
      }
    }
  }

  bool Accept(char c) {
    SkipBlanks();
    if (next_ >= text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }

  std::string Word() {
    SkipBlanks();
    const size_t begin = next_;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '+';
    };
    while (next_ < text_.size() && is_part(text_[next_])) ++next_;
    return std::string(text_.substr(begin, next_ - begin));
  }

  Result<std::string> Value() {
    SkipBlanks();
    if (next_ < text_.size() && (text_[next_] == '"' || text_[next_] == '\'')) {
      const char quote = text_[next_++];
      std::string value;
      for (; next_ < text_.size() && text_[next_] != quote && text_[next_] != '\n'; ++next_) {
        if (text_[next_] == '\\' && next_ + 1 < text_.size()) ++next_;
        value += text_[next_];
      }
      if (!Accept(quote)) FAIL(ErrorAt(Here(), "expected the end of a string"));
      return value;
    }
    const SourceRange range = Here();
    std::string word = Word();
    if (word.empty()) FAIL(ErrorAt(range, "expected a value"));
    return word;
  }

  Result<ProtoMessage> Message(int depth) {
    constexpr int kMostDepth = 50;
    if (depth > kMostDepth) FAIL(ErrorAt(Here(), Str("messages are nested deeper than ", kMostDepth, " levels")));
    ProtoMessage message;
    for (;;) {
      SkipBlanks();
      if (next_ >= text_.size()) {
        if (depth > 0) FAIL(ErrorAt(Here(), "expected '}'"));
        return message;
      }
      if (depth > 0 && Accept('}')) return message;
      ProtoField field;
      field.range = Here();
      field.name = Word();
      if (field.name.empty()) FAIL(ErrorAt(field.range, "expected the name of a field"));
      field.range.end = static_cast<uint32_t>(next_);
      const bool colon = Accept(':');
      if (Accept('{')) field.message = TRY(Message(depth + 1));
      else if (colon) field.value = TRY(Value());
      else FAIL(ErrorAt(Here(), Str("expected ':' or '{' after '", field.name, "'")));
      message.push_back(std::move(field));
    }
  }

  std::shared_ptr<const SourceText> source_;
  std::string_view text_;
  size_t next_ = 0;
};

const ProtoField* Find(const ProtoMessage& message, std::string_view name) {
  const auto found = std::ranges::find(message, name, &ProtoField::name);
  return found == message.end() ? nullptr : &*found;
}

// Shares of data sheet rates that an H200 reaches (ir/device_description.cpp).
constexpr double kMemoryShare = 0.855, kRateShare = 0.78;

class Config {
 public:
  Config(const ProtoReader& reader, const ProtoMessage& info) : reader_(reader), info_(info) {}

  Result<double> Number(std::string_view name) const {
    const ProtoField* field = Find(info_, name);
    if (field == nullptr) FAIL(reader_.ErrorAt({}, Str("gpu_device_info has no ", name)));
    return Number(*field);
  }
  Result<double> Number(const ProtoField& field) const {
    double value = 0;
    if (!ParseDouble(field.value, &value) || !(value > 0) || value > 1e18)
      FAIL(reader_.ErrorAt(field.range, Str(field.name, " wants a number above 0, not '", Escaped(field.value), "'")));
    return value;
  }

  // A multiply-add is two operations. 0 if the file lacks the rate.
  Result<double> Rate(std::string_view unit, std::string_view type, double cores) const {
    const ProtoField* description = Find(info_, unit);
    if (description == nullptr) return 0;
    for (const ProtoField& row : description->message) {
      const ProtoField* key = Find(row.message, "key");
      const ProtoField* value = Find(row.message, "value");
      if (key == nullptr || value == nullptr || key->value != type) continue;
      double rate = 2e9 * cores;
      for (const std::string_view part : {"clock_rate_ghz", "units_per_core", "ops_per_clock"}) {
        const ProtoField* field = Find(value->message, part);
        if (field == nullptr) FAIL(reader_.ErrorAt(row.range, Str(row.name, " has no ", part)));
        rate *= TRY(Number(*field));
      }
      return rate;
    }
    return 0;
  }

 private:
  const ProtoReader& reader_;
  const ProtoMessage& info_;
};

Result<DeviceDescription> DescriptionOf(const ProtoReader& reader, const ProtoMessage& file) {
  const ProtoField* info = Find(file, "gpu_device_info");
  if (info == nullptr)
    FAIL(reader.ErrorAt({}, "expected gpu_device_info { ... }: a target configuration of XLA as text"));
  const Config config(reader, info->message);
  const ProtoField* capability = Find(info->message, "cuda_compute_capability");
  if (capability == nullptr) FAIL(reader.ErrorAt(info->range, "gpu_device_info has no cuda_compute_capability"));
  const ProtoField* major = Find(capability->message, "major");
  if (major == nullptr) FAIL(reader.ErrorAt(capability->range, "cuda_compute_capability has no major"));
  int64_t minor = 0;
  if (const ProtoField* field = Find(capability->message, "minor"); field != nullptr && !ParseInt(field->value, &minor))
    FAIL(reader.ErrorAt(field->range, "minor wants a number"));
  // The default device has values for missing fields.
  DeviceDescription device = DefaultDevice();
  device.compute_capability = static_cast<int>(10 * TRY(config.Number(*major)) + static_cast<double>(minor));
  if (device.compute_capability < 80 || device.compute_capability > 999)
    FAIL(reader.ErrorAt(capability->range, Str("kernels need sm_80 or later, not sm_", device.compute_capability)));
  const double cores = TRY(config.Number("core_count"));
  if (cores > 4096) FAIL(reader.ErrorAt({}, Str("core_count is ", cores, ", expected at most 4096")));
  device.multiprocessors = static_cast<int>(cores);
  device.shared_memory_bytes = static_cast<int64_t>(TRY(config.Number("shared_memory_per_block_optin")));
  device.memory_bytes = static_cast<int64_t>(TRY(config.Number("device_memory_size")));
  const double cache_share = device.cache_rate / device.memory_rate;
  device.memory_rate = kMemoryShare * TRY(config.Number("memory_bandwidth"));
  device.cache_rate = cache_share * device.memory_rate;
  device.cache_bytes = static_cast<int64_t>(TRY(config.Number("l2_cache_size")));
  const double lanes = TRY(config.Number("fpus_per_core")), clock = TRY(config.Number("clock_rate_ghz"));
  device.instruction_rate = kRateShare * 1e9 * cores * lanes * clock;
  // Rates of s8, bf16, f32 without TF32, and f64, by XLA's PrimitiveType numbers.
  const double by_lanes = 2e9 * cores * lanes * clock;
  constexpr std::string_view kMatrix = "matrix_unit_description", kScalar = "scalar_unit_description";
  const double rates[] = {TRY(config.Rate(kMatrix, "2", cores)), TRY(config.Rate(kMatrix, "16", cores)),
                          TRY(config.Rate(kScalar, "11", cores)), TRY(config.Rate(kScalar, "12", cores))};
  const double otherwise[] = {by_lanes, by_lanes, by_lanes, by_lanes / 2};
  for (size_t i = 0; i < std::size(rates); ++i)
    device.dot_rates[i] = kRateShare * (rates[i] > 0 ? rates[i] : otherwise[i]);
  return device;
}

std::shared_ptr<const Target> Owned(std::string name, DeviceDescription device) {
  auto target = std::make_shared<Target>(Target{std::move(name), device});
  target->device.name = target->name;
  return target;
}

}  // namespace

std::shared_ptr<const Target> TargetOf(const DeviceDescription& device) {
  return Owned(std::string(device.name), device);
}

std::shared_ptr<const Target> TargetOfPlatform(const std::string& platform, bool for_speed,
                                               const std::vector<std::string>& library_path, std::string* why_not) {
  const PlatformKind kind = KindOfPlatform(platform);
  if (kind == PlatformKind::kInterpreter) return nullptr;
  auto device = gpu::OpenDevice(kind == PlatformKind::kAuto ? "cuda" : platform, library_path);
  if (!device && why_not != nullptr) *why_not = device.error().message();
  if (!device && kind == PlatformKind::kAuto && for_speed) device = gpu::OpenDevice("cpu");
  return device && (!(*device)->IsHost() || for_speed) ? TargetOf((*device)->Describe()) : nullptr;
}

std::string TargetNames() {
  std::vector<std::string_view> names;
  for (const DeviceDescription& row : AllDevices()) names.push_back(row.name);
  return Join(names, ", ");
}

Result<std::shared_ptr<const Target>> ReadTarget(const std::string& path) {
  constexpr int64_t kMostBytes = 1 << 20;
  const auto source = TRY(ReadSource(path, kMostBytes));
  ProtoReader reader(source);
  const DeviceDescription device = TRY(DescriptionOf(reader, TRY(reader.Read())));
  return Owned(path.substr(path.find_last_of('/') + 1), device);
}

Result<std::shared_ptr<const Target>> FindTarget(const std::string& name) {
  if (const DeviceDescription* row = FindDevice(name)) return Owned(name, *row);
  if (name.find_first_of("./") != std::string::npos) return ReadTarget(name);
  int64_t capability = 0;
  if (name.starts_with("sm_") && ParseInt(name.substr(3), &capability)) {
    for (const DeviceDescription& row : AllDevices()) {
      if (row.is_gpu && row.compute_capability == capability) return Owned(std::string(row.name), row);
    }
  }
  std::vector<std::string_view> known;
  for (const DeviceDescription& row : AllDevices()) known.push_back(row.name);
  std::vector<std::string> capabilities;
  for (const DeviceDescription& row : AllDevices()) {
    const std::string text = Str("sm_", row.compute_capability);
    if (row.is_gpu && std::ranges::find(capabilities, text) == capabilities.end()) capabilities.push_back(text);
  }
  for (const std::string& text : capabilities) known.push_back(text);
  const std::vector<std::string> near = NearNames(name, known);
  FAIL(UsageError("F004",
                  Str("--target: no description of '", Escaped(name), "'; known: ", Join(known, ", "), ", or a file"))
           .Hint(near.empty() ? "" : Str("did you mean '", Join(near, "', '"), "'?")));
}

}  // namespace hlo
