#include "driver/bundle.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash_bytes.h"
#include "base/source_text.h"
#include "base/text.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest = "manifest.json", kSchema = "hlo.bundle/1", kFolder = "{bundle}";
constexpr int64_t kMostBytes = int64_t{1} << 40;

std::string HashText(std::string_view bytes) {
  return Format("%016llx", static_cast<unsigned long long>(HashBytes(bytes)));
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && !name.contains('/') && !name.contains('\0') && name != "." && name != "..";
}

Error Broken(const std::string& folder, std::string_view what) {
  return Rejected("A018", Str("bundle '", Escaped(folder), "': ", what));
}

Status CheckFile(const std::string& folder, const JsonValue& file, std::vector<std::string>* notes) {
  const std::string* const name = file["name"].String();
  const std::string* const hash = file["hash"].String();
  if (name == nullptr || hash == nullptr || !IsPlainName(*name))
    FAIL(Broken(folder, Str(kManifest, " lists a file without a name or hash")));
  const std::string path = Str(folder, "/", *name);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) FAIL(Broken(folder, Str("'", Escaped(*name), "' is missing")));
  const auto bytes = TRY(ReadSource(path, kMostBytes));
  if (HashText(bytes->text()) != *hash) notes->push_back(Str("'", path, "' has changed since the bundle was written"));
  return {};
}

}  // namespace

bool IsBundle(const std::string& path) {
  const std::string manifest = Str(path, "/", kManifest);
  std::error_code error;
  if (!fs::is_regular_file(manifest, error)) return false;
  const auto text = ReadSource(manifest);
  // Other folders may have a manifest.json, too. A bundle's manifest may be truncated, so only its start is compared.
  return text && (*text)->text().starts_with(Str(R"({"schema":")", kSchema, "\""));
}

Result<JsonValue> ManifestOf(const std::string& folder) {
  const auto text = TRY(ReadSource(Str(folder, "/", kManifest)));
  auto manifest = ReadJson(text->text());
  if (!manifest) FAIL(Broken(folder, Str(kManifest, ": ", manifest.error().message())));
  return manifest;
}

Result<Bundle> ReadBundle(const std::string& folder) {
  const JsonValue manifest = TRY(ManifestOf(folder));
  const JsonValue::Array* const files = manifest["files"].Items();
  const JsonValue::Array* const flags = manifest["flags"].Items();
  if (files == nullptr || flags == nullptr) FAIL(Broken(folder, Str(kManifest, " lacks 'files' or 'flags'")));
  Bundle bundle;
  for (const JsonValue& file : *files) TRY(CheckFile(folder, file, &bundle.notes));
  for (const JsonValue& flag : *flags) {
    if (flag.String() == nullptr || !flag.String()->starts_with("--"))
      FAIL(Broken(folder, Str(kManifest, " has '", flag.ToString(), "' in its list of flags, which is not a flag")));
    std::string word = *flag.String();
    if (const size_t at = word.find(kFolder); at != word.npos) word.replace(at, kFolder.size(), folder);
    bundle.flags.push_back(std::move(word));
  }
  return bundle;
}

std::string ModuleFile(const std::string& path) {
  if (!IsBundle(path)) return path;
  const std::string proto = path + "/module.pb";
  std::error_code error;
  return fs::is_regular_file(proto, error) ? proto : path + "/module.hlo";
}

Status WriteManifest(const std::string& folder, const std::vector<std::string>& flags,
                     const std::function<void(JsonWriter&)>& about) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  JsonWriter json;
  json.Open('{').Key("schema").Value(kSchema);
  about(json);
  json.Key("flags").Open('[');
  for (const std::string& flag : flags) json.Value(flag);
  json.Close(']').Key("files").Open('[');
  for (const std::string& name : names) {
    const auto bytes = TRY(ReadSource(Str(folder, "/", name), kMostBytes));
    json.Open('{').Key("name").Value(name).Key("bytes").Value(bytes->text().size());
    json.Key("hash").Value(HashText(bytes->text())).Close('}');
  }
  json.Close(']').Close('}');
  return WriteFile(Str(folder, "/", kManifest), json.text() + "\n");
}

}  // namespace hlo
