// A program on one device: memory for all its places, kernels loaded, library calls bound, arguments in place. The
// program stays as it is, so several bindings of one, on one device or on several, run beside each other.
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

struct RecordedPieces;  // timeline_writer.h

// A piece of a device's memory, freed with its owner.
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
  // Memory, constants and code, all but the arguments. `device` must be of the program's target and outlive the
  // binding. Errors: kDevice for another target, and the device's own.
  static Result<std::unique_ptr<Binding>> Make(std::shared_ptr<const Program> program, Device& device);

  const Program& program() const { return *program_; }
  Device& device() const { return device_; }

  // One literal for each parameter of the entry; see Executable::Bind.
  Status Bind(std::span<const Literal> arguments);
  // What a run wants done before it: donated arguments back where the last run wrote over them, results in memory that
  // nobody else holds, weights packed.
  Status MakeReady();
  // Bytes of ones where results go (no number, -1): their memory may hold from before what a kernel should write.
  Status SpoilResults();

  void* Pointer(PlaceNumber place) const { return pointers_[place]; }
  std::span<void* const> Pointers(PlaceRange range) const {
    return std::span(pointers_).subspan(range.first, range.count);
  }
  // From here on; what was there. While something is recorded.
  void* Move(PlaceNumber place, void* to) { return std::exchange(pointers_[place], to); }
  const LoadedKernel& Kernel(int code) const { return *kernels_[code]; }  // Of Program::code.
  BoundCall& Call(const LibraryWork& work) const { return *calls_[work.call]; }
  HostCaller& Caller() const { return *caller_; }

  // Of nodes that are queued as one. The pointers stay what they are as long as the binding.
  struct Recorded {
    int runs = 0;
    std::shared_ptr<const Recording> recording;    // Null: not yet, or they cannot be.
    std::vector<const LoopNode*> unrolled;         // In it, trip by trip: it holds as long as their trips do.
    bool doubted = false;                          // They did not when it was last to be queued.
    std::shared_ptr<const RecordedPieces> pieces;  // What the device's log calls them; null: it was not told.
  };
  Recorded& recorded(std::span<const Node> nodes) { return recorded_[{nodes.data(), nodes.size()}]; }
  // From when on the device is not trusted with loops and branches: what had some could not be recorded.
  bool& host_decides() { return host_decides_; }
  // From when on no kernel that is recorded is launched early: what had some could not be recorded.
  bool& launches_late() { return launches_late_; }
  // Of a loop, when its condition was last asked; -1: not with these arguments.
  int64_t& trips_made(const LoopNode& loop) { return trips_made_.try_emplace(&loop, -1).first->second; }

  // Loops that count their trips on the device, those of one kernel together, and what they are to know before they
  // run (TripField): told when it is another than before, since they leave it as it is.
  struct CountedLoops {
    PlaceNumber trips;
    std::span<const Instruction* const> loops;
  };
  std::span<const CountedLoops> loops() const { return loops_; }
  Status TellLoops(int64_t stop_after, int64_t most_trips);
  // Of each of loops(), what it counted: kTripFields numbers.
  Result<std::vector<int64_t>> ReadLoops() const;

  // Zero the counters that a run which failed has left as they were.
  Status ResetCounters();

  // Of what lies in literals on the host, the bytes are lent, not copied: those of arguments, which no step writes, or
  // those of results too, which the next one may.
  enum class Lent { kArguments, kResultsToo };
  // The value of an instruction, or a leaf of it, as it lies in memory now.
  Result<Literal> Read(const Instruction& inst, Lent lent = Lent::kArguments) const;
  Result<Literal> ReadLeaf(const Instruction& inst, int leaf, const Shape& shape, Lent lent = Lent::kArguments) const;
  // From a literal of the shape, or smaller where the shape says <=, to memory.
  Status Upload(const Shape& shape, const Literal& literal, void* to) const;
  // The results of the last run; the bytes are the caller's.
  Result<Literal> Output();

 private:
  Binding(std::shared_ptr<const Program> program, Device& device) : program_(std::move(program)), device_(device) {}

  struct Leaf {
    const Shape* shape;
    Literal literal;      // Keeps the bytes alive that are used in place, or that a donated parameter is refilled from.
    DeviceMemory memory;  // Where they were copied to.
    void* pointer = nullptr;
    Place donated;  // Where a donated parameter lies: where a result or a temporary will; kNothing: it is not donated.
  };
  struct OutputLeaf {
    const Shape* shape = nullptr;
    Literal literal;      // Host: whose bytes the results are written to.
    DeviceMemory memory;  // Other devices.
    bool given = false;   // The bytes belong to somebody else now.
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
  std::vector<Leaf> leaves_;  // Of the parameters.
  std::vector<OutputLeaf> outputs_;
  std::vector<void*> pointers_;  // By number of Program::places.
  std::vector<CountedLoops> loops_;
  std::pair<int64_t, int64_t> told_ = {-1, -1};  // What loops were told; -1: nothing.
  std::map<std::pair<const Node*, size_t>, Recorded> recorded_;
  std::map<const LoopNode*, int64_t> trips_made_;
  bool resolved_ = false, packed_now_ = false, host_decides_ = false, launches_late_ = false;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BINDING_H_
