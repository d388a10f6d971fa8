// Chooses cuDNN's engine for a graph, and caches data for a device.
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

// An engine with its plan. Descriptors depend on each other and on the handle that runs them.
struct Choice {
  Graph graph;
  Descriptor config;
  Plan plan;
  int64_t engine = 0, number = 0;  // `engine`: cuDNN's index. `number`: position in cuDNN's proposals.
  Handle handle = nullptr;
};

// A cache by key. The first thread that needs an entry makes it, and others wait. Failures are cached too.
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

class OnDevice {
 public:
  OnDevice(const Api& api, void* stream) : api(api), stream_(stream) {}
  ~OnDevice();

  // A handle that no other thread gets until the pointer is destroyed.
  using Lent = std::unique_ptr<void, std::function<void(Handle)>>;
  Result<Lent> Lend();
  bool Owns(Handle handle);

  Result<OwnPart::Loaded> Load(const std::shared_ptr<const OwnPart>& part, Device& device);

  const Api& api;
  MadeOnce<std::string, Choice> choices;
  MadeOnce<uint64_t, OwnPart> parts;  // Keyed by fingerprint.

 private:
  Result<Handle> Make();

  void* const stream_;
  std::mutex mutex_;
  std::vector<Handle> handles_, idle_;
  std::map<std::shared_ptr<const OwnPart>, OwnPart::Loaded> loaded_;
};
Result<OnDevice*> On(const Api& api, Device& device);

struct Terms {
  PrimitiveType type;
  bool may_compile = true;
  int64_t number = -1;  // -1 selects the first allowed engine.
};

// The first allowed engine whose plan can be made. It is cached for `key` and `terms`.
Result<std::shared_ptr<const Choice>> ChooseOnce(OnDevice& on, const std::string& key,
                                                 const std::function<Result<Graph>(const Where&)>& make,
                                                 const Terms& terms, const LibraryOptions& options);

// `choice` if `on` owns its handle. Otherwise the same engine, made for `on`.
Result<std::shared_ptr<const Choice>> ChoiceOn(OnDevice& on, const std::shared_ptr<const Choice>& choice,
                                               const std::string& key,
                                               const std::function<Result<Graph>(const Where&)>& make,
                                               PrimitiveType type, bool allow_tf32);

// `pointers` has an entry for each of the graph's slots.
Status Execute(const OnDevice& on, const Choice& choice, const std::vector<const void*>& pointers, void* workspace);

}  // namespace hlo::gpu::cudnn

namespace hlo::gpu {

struct CudnnEngine {
  int64_t index = 0;
  bool is_compiled = false;  // Making the plan compiles code.
  std::string why_not;
};

}  // namespace hlo::gpu

namespace hlo::gpu::cudnn {

// With `compiles`, also makes plans of engines that cuDNN compiles, which takes about a second each. See CudnnEngines.
Result<std::vector<CudnnEngine>> EnginesFor(const std::function<Result<Graph>(const Where&)>& make, PrimitiveType type,
                                            bool compiles, const std::string& device_json,
                                            const LibraryOptions& options);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_CHOICE_H_
