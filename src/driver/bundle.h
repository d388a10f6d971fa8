// A bundle: a folder that has all that a run depends on, so that whoever gets it sees the same with one command.
//
//   module.hlo      the very bytes that were read (module.pb of a protocol buffer); module.opt.hlo: as it was compiled
//   args.npz        what it ran with; expected.npz, actual.npz: what should come out, and what did
//   values.npz      of --save_run: what each instruction gave
//   autotune.lock   the plans that were measured, of a run with autotuning
//   report.json     of hlo-run; REPORT.*: the same to be read, with what stands where
//   cmd.sh          the one command, to be run from anywhere
//   manifest.json   "hlo.bundle/1": flags, versions, the verdict, size and hash of each file
//   ...             copies of the files that flags name: pipeline.txt, target.txt, ...
//
// Every command takes the folder in place of a module: then it reads module.hlo, and of the flags those that it knows,
// before its own. In flags "{bundle}" is the folder.
#ifndef HLO_DRIVER_BUNDLE_H_
#define HLO_DRIVER_BUNDLE_H_

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/result.h"

namespace hlo {

// What a run leaves of its flags and of the files that they name.
struct BundleOptions {
  struct File {
    std::string name, bytes;
  };
  std::string directory;           // Empty: no bundle is written.
  std::vector<std::string> flags;  // "--platform=cpu", "--pipeline={bundle}/pipeline.txt"
  std::vector<File> files;
};

struct Bundle {
  std::vector<std::string> flags;  // The folder in place of "{bundle}".
  std::vector<std::string> notes;  // On files that are not what they were when it was made.
};

bool IsBundle(const std::string& path);

// Errors [A018], kRejected: a manifest that is none, a file that is missing.
Result<Bundle> ReadBundle(const std::string& folder);

// Of a folder. Errors [A018], kRejected: it is none.
Result<JsonValue> ManifestOf(const std::string& folder);

// The file of a path to a module: of a bundle that in it.
std::string ModuleFile(const std::string& path);

// manifest.json of a folder, of all files that are in it. `about` adds members to it.
Status WriteManifest(const std::string& folder, const std::vector<std::string>& flags,
                     const std::function<void(JsonWriter&)>& about);

}  // namespace hlo

#endif  // HLO_DRIVER_BUNDLE_H_
