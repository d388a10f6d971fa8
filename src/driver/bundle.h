// A bundle: a folder with everything that a run depends on.
//
//   module.hlo      the input as it was read (module.pb for a protocol buffer); module.opt.hlo: after the passes
//   args.npz        the arguments; expected.npz, actual.npz: the expected and the actual results
//   values.npz      the value of each instruction (--save_run)
//   autotune.lock   the measured plans of a run with autotuning
//   report.json     the report of hlo-run; REPORT.* has the same report for people
//   manifest.json   "hlo.bundle/1": flags, versions, the verdict, size and hash of each file
//   ...             copies of the files that flags name: pipeline.txt, target.txt, ...
//
// Every command accepts the folder in place of a module, and then reads the bundle's module and the flags that the
// command knows. In flags, "{bundle}" is the folder.
#ifndef HLO_DRIVER_BUNDLE_H_
#define HLO_DRIVER_BUNDLE_H_

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/result.h"

namespace hlo {

struct BundleOptions {
  struct File {
    std::string name, bytes;
  };
  std::string directory;           // Empty writes no bundle.
  std::vector<std::string> flags;  // "--platform=cpu", "--pipeline={bundle}/pipeline.txt"
  std::vector<File> files;
};

struct Bundle {
  std::vector<std::string> flags;  // "{bundle}" is replaced by the folder.
  std::vector<std::string> notes;  // Files that changed since the bundle was made.
};

bool IsBundle(const std::string& path);

// Errors: A018 for an invalid manifest or a missing file.
Result<Bundle> ReadBundle(const std::string& folder);

// Errors: A018 if the manifest is not readable JSON.
Result<JsonValue> ManifestOf(const std::string& folder);

// The module file of the bundle `path`, or `path` itself if it is not a bundle.
std::string ModuleFile(const std::string& path);

// `about` adds members to the manifest.
Status WriteManifest(const std::string& folder, const std::vector<std::string>& flags,
                     const std::function<void(JsonWriter&)>& about);

}  // namespace hlo

#endif  // HLO_DRIVER_BUNDLE_H_
