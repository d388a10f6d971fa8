// An engine of cuDNN's for a graph, and what is kept of it for a device.
#ifndef HLO_GPU_LIBRARIES_CUDNN_CHOICE_H_
#define HLO_GPU_LIBRARIES_CUDNN_CHOICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/cudnn_graph.h"
#include "gpu/libraries/open.h"
#include "gpu/libraries/own_part.h"
#include "ir/module.h"

namespace hlo::gpu::cudnn {

// Its descriptors are made of each other, and of a handle, by which it runs.
struct Choice {
  Graph graph;
  Descriptor config;
  Plan plan;
  int64_t engine = 0, number = 0;  // cuDNN's index; its place in the order of cuDNN's heuristics.
  Handle handle = nullptr;
};

// Things by key, each made once, whichever of several threads asks for it first; who asks meanwhile waits. What could
// not be made is not tried again.
template <class Key, class T>
class MadeOnce {
 public:
  using Made = Result<std::shared_ptr<const T>>;
  template <class Make>
  Made Get(const Key& key, const Make& make) {
    Entry* entry = nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::unique_ptr<Entry>& there = entries_[key];
      if (there == nullptr) there = std::make_unique<Entry>();
      entry = there.get();
    }
    const std::lock_guard lock(entry->mutex);
    if (!entry->made) entry->made = make();
    return *entry->made;
  }
  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Made> made;
  };
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Entry>> entries_;
};

// What is kept for a device: handles, and what was made for equal graphs of the same module or of others.
class OnDevice {
 public:
  OnDevice(const Api& api, void* stream) : api(api), stream_(stream) {}
  ~OnDevice();

  // A handle to make plans with, as long as it is held: at a time it is for one thread.
  using Lent = std::unique_ptr<void, std::function<void(Handle)>>;
  Result<Lent> Lend();
  bool Owns(Handle handle);

  Result<OwnPart::Loaded> Load(const std::shared_ptr<const OwnPart>& part, Device& device);

  const Api& api;
  MadeOnce<std::string, Choice> choices;
  MadeOnce<uint64_t, OwnPart> parts;  // By the fingerprint of their modules.

 private:
  Result<Handle> Make();

  void* const stream_;
  std::mutex mutex_;
  std::vector<Handle> handles_, idle_;
  std::map<std::shared_ptr<const OwnPart>, OwnPart::Loaded> loaded_;
};
Result<OnDevice*> On(const Api& api, Device& device);

// Which engines may be taken.
struct Terms {
  PrimitiveType type;  // Of operands and result.
  bool may_compile = true;
  int64_t number = -1;  // The one of that number; -1: the first that may.
};

// The first engine that may be taken and whose plan can be made. Several threads compile; of equal ones the first does
// it, the others wait. `key`: equal for graphs of which one's choice holds for the other, under equal terms.
// Errors: why there is none.
Result<std::shared_ptr<const Choice>> ChooseOnce(OnDevice& on, const std::string& key,
                                                 const std::function<Result<Graph>(const Where&)>& make,
                                                 const Terms& terms, const LibraryOptions& options);

// The same engine where the call is bound to another device than it was made for, or to the same by another handle.
Result<std::shared_ptr<const Choice>> ChoiceOn(OnDevice& on, const std::shared_ptr<const Choice>& choice,
                                               const std::string& key,
                                               const std::function<Result<Graph>(const Where&)>& make,
                                               PrimitiveType type, bool allow_tf32);

// `pointers`: one for each slot of the graph.
Status Execute(const OnDevice& on, const Choice& choice, const std::vector<const void*>& pointers, void* workspace);

}  // namespace hlo::gpu::cudnn

namespace hlo::gpu {

// One for a device that is only described.
struct CudnnEngine {
  int64_t index = 0;
  bool is_compiled = false;  // For the graph, when the plan is made.
  std::string why_not;       // It is not taken, or its plan cannot be made.
};

}  // namespace hlo::gpu

namespace hlo::gpu::cudnn {

// Engines for a graph on a device that is only described, as its own JSON says it ("deviceVer": 900...). `compiles`:
// plans of those that are compiled for the graph are made, too, a second for each.
Result<std::vector<CudnnEngine>> EnginesFor(const std::function<Result<Graph>(const Where&)>& make, PrimitiveType type,
                                            bool compiles, const std::string& device_json,
                                            const LibraryOptions& options);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_CHOICE_H_
