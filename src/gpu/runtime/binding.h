// A program on one device with memory, kernels, library calls and arguments. Several bindings can run concurrently.
#ifndef HLO_GPU_RUNTIME_BINDING_H_
#define HLO_GPU_RUNTIME_BINDING_H_

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

struct RecordedPieces;

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ != nullptr) device_->Free(data_);
  }

  static Result<DeviceMemory> Allocate(Device& device, int64_t bytes) {
    DeviceMemory memory;
    memory.device_ = &device;
    memory.data_ = TRY(device.Allocate(bytes));
    return memory;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
};

class Binding {
 public:
  // `device` must outlive the binding. Errors: R016 if the program was compiled for another target.
  static Result<std::unique_ptr<Binding>> Make(std::shared_ptr<const Program> program, Device& device);

  const Program& program() const { return *program_; }
  Device& device() const { return device_; }

  Status Bind(std::span<const Literal> arguments);
  Status MakeReady();
  // Fills the results with NaN or -1, because an earlier run may have left the right bytes.
  Status SpoilResults();

  void* Pointer(PlaceNumber place) const { return pointers_[place]; }
  std::span<void* const> Pointers(PlaceRange range) const {
    return std::span(pointers_).subspan(range.first, range.count);
  }
  // Replaces a pointer and returns the old one.
  void* Move(PlaceNumber place, void* to) { return std::exchange(pointers_[place], to); }
  const LoadedKernel& Kernel(int code) const { return *kernels_[code]; }
  BoundCall& Call(const LibraryWork& work) const { return *calls_[work.call]; }
  HostCaller& Caller() const { return *caller_; }

  // Consecutive nodes that can be queued as one recording.
  struct Recorded {
    int runs = 0;
    std::shared_ptr<const Recording> recording;
    // The recording is valid while these loops have the recorded trip counts.
    std::vector<const LoopNode*> unrolled;
    bool doubted = false;                          // Whether trip counts differed at the last use.
    std::shared_ptr<const RecordedPieces> pieces;  // Null unless the device logs its work.
  };
  Recorded& recorded(std::span<const Node> nodes) { return recorded_[{nodes.data(), nodes.size()}]; }
  // Set when recording loops or branches failed. Then the host evaluates their conditions.
  bool& host_decides() { return host_decides_; }
  // Set when recording early launches failed.
  bool& launches_late() { return launches_late_; }
  // Trips of the loop in its last run by the host, or -1 if it has not run with these arguments.
  int64_t& trips_made(const LoopNode& loop) { return trips_made_.try_emplace(&loop, -1).first->second; }

  // Loops whose trips the device counts. Runs keep the limits of SetLoopLimits, which are two of the TripField numbers.
  struct CountedLoops {
    PlaceNumber trips;
    std::span<const Instruction* const> loops;
  };
  std::span<const CountedLoops> loops() const { return loops_; }
  Status SetLoopLimits(int64_t stop_after, int64_t most_trips);
  // kTripFields numbers for each entry of loops().
  Result<std::vector<int64_t>> ReadLoops() const;

  // Fills the counters with 0 and drops the limits. Required after a failed run.
  Status ResetCounters();

  // A read may return a literal that shares the bytes of an argument or, with kResultsToo, of a result, which the next
  // step may overwrite.
  enum class Lent { kArguments, kResultsToo };
  Result<Literal> Read(const Instruction& inst, Lent lent = Lent::kArguments) const;
  Result<Literal> ReadLeaf(const Instruction& inst, int leaf, const Shape& shape, Lent lent = Lent::kArguments) const;
  // Copies the literal to the device. It has the shape `shape`, but dynamic dimensions may be smaller.
  Status Upload(const Shape& shape, const Literal& literal, void* to) const;
  Result<Literal> Output();

 private:
  Binding(std::shared_ptr<const Program> program, Device& device) : program_(std::move(program)), device_(device) {}

  struct Leaf {
    const Shape* shape;
    Literal literal;  // Owns the bytes if they are used in place, or needed to restore a donated parameter.
    DeviceMemory memory;
    void* pointer = nullptr;
    // The place of a donated parameter, otherwise kNothing.
    Place donated;
  };
  struct OutputLeaf {
    const Shape* shape = nullptr;
    Literal literal;      // On the host.
    DeviceMemory memory;  // On other devices.
    bool given = false;
  };

  Status Prepare();
  Status LoadConstant(const ConstantData& constant);
  void ListDonated();
  Status CheckArguments(std::span<const Literal> arguments) const;
  Status BindLeaves(const Literal& literal, size_t& next);
  Status UploadSized(const Shape& shape, const Literal& literal, void* to) const;
  Result<Literal> ReadSized(const Shape& shape, const void* from) const;
  Status MakeOutputs();
  Status PackWeights();
  void* Resolve(const Place& place) const;
  const Literal* LiteralAt(const Place& place, const Shape& shape, Lent lent) const;
  Result<Literal> Give(const Instruction& root, int number, const Shape& shape);

  std::shared_ptr<const Program> program_;
  Device& device_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  std::vector<std::unique_ptr<BoundCall>> calls_;
  std::unique_ptr<HostCaller> caller_;
  DeviceMemory arena_, counters_, packed_;
  std::vector<DeviceMemory> constant_memory_;
  std::vector<void*> constants_;
  std::vector<Leaf> leaves_;
  std::vector<OutputLeaf> outputs_;
  std::vector<void*> pointers_;  // Indexed by PlaceNumber.
  std::vector<CountedLoops> loops_;
  std::pair<int64_t, int64_t> loop_limits_ = {-1, -1};
  std::map<std::pair<const Node*, size_t>, Recorded> recorded_;
  std::map<const LoopNode*, int64_t> trips_made_;
  bool resolved_ = false, packed_now_ = false, host_decides_ = false, launches_late_ = false;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BINDING_H_
