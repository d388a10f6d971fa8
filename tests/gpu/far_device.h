// The host as a device with memory of its own. It tests, without a GPU, the parts of the run time that the host does
// not need: copies of arguments and results, donated arguments, and steps that are recorded and queued as one launch.
// Kernels are the host's. As on a GPU, waiting and copying to or from the device fail while steps are recorded.
#ifndef HLO_TESTS_GPU_FAR_DEVICE_H_
#define HLO_TESTS_GPU_FAR_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device/device.h"

namespace hlo::gpu {

class FarDevice : public Device {
 public:
  std::string name() const override { return "far"; }
  std::string description() const override { return "the host as a device of its own"; }
  std::string target() const override { return host_->target(); }
  DeviceDescription Describe() const override { return host_->Describe(); }
  bool IsHost() const override { return false; }

  Result<void*> Allocate(int64_t bytes) override {
    ++allocated_;
    return host_->Allocate(bytes);
  }
  void Free(void* memory) override {
    --allocated_;
    host_->Free(memory);
  }

  Status CopyIn(void* to, const void* from, int64_t bytes) override {
    TRY(MustNotRecord("CopyIn"));
    return host_->CopyIn(to, from, bytes);
  }
  Status CopyOut(void* to, const void* from, int64_t bytes) override {
    TRY(MustNotRecord("CopyOut"));
    return host_->CopyOut(to, from, bytes);
  }
  Status Copy(void* to, const void* from, int64_t bytes) override {
    return Do([=, this] { return host_->Copy(to, from, bytes); });
  }
  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    return Do([=, this] { return host_->Fill(to, pattern, width, count); });
  }
  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double> shares,
                                                                 kernel::CodeCache* kept) override {
    return host_->Compile(kernels, shares, kept);
  }
  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override {
    return host_->Load(code);
  }
  Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) override {
    return Do([this, &kernel, own = std::vector<void*>(arguments.begin(), arguments.end())] {
      return host_->Launch(kernel, own);
    });
  }
  Status Synchronize() override { return MustNotRecord("Synchronize"); }

  bool Records() const override { return true; }
  Status BeginRecording() override {
    TRY(MustNotRecord("BeginRecording"));
    recording_ = std::make_shared<Steps>();
    return {};
  }
  void DropRecording() override { recording_ = nullptr; }
  Result<std::shared_ptr<const Recording>> EndRecording() override {
    if (fails_to_record) {
      recording_ = nullptr;
      FAIL(DeviceError("R014", "a step cannot be recorded"));
    }
    return std::exchange(recording_, nullptr);
  }
  Status Replay(const Recording& recording) override {
    ++replays;
    return RunAll(static_cast<const Steps&>(recording));
  }

  // A handle is the address of its condition, because the host's Op::kSetCondition writes there.
  Decisions Decides() const override { return decides; }
  Status RecordWhile(const ConditionLaunch& first, const ConditionLaunch& next,
                     const std::function<Status()>& body) override {
    if (fails_to_decide) FAIL(DeviceError("R014", "a loop cannot be recorded"));
    uint32_t* const condition = MakeCondition();
    TRY(Launch(first.kernel, first.With(condition)));
    const auto trip = TRY(Inside([&]() -> Status {
      TRY(body());
      return Launch(next.kernel, next.With(condition));
    }));
    return Do([this, condition, trip]() -> Status {
      for (; *condition != 0; ++trips) TRY(RunAll(*trip));
      return {};
    });
  }
  Status RecordBranches(const LoadedKernel& set, std::span<void* const> arguments,
                        std::span<const std::function<Status()>> branches) override {
    const bool one_node = decides == Decisions::kWithSwitch;
    std::vector<uint32_t*> conditions;
    for (size_t i = 0; i < (one_node ? 1 : branches.size()); ++i) conditions.push_back(MakeCondition());
    TRY(LaunchWith(set, {conditions.begin(), conditions.end()}, arguments));
    for (size_t i = 0; i < branches.size(); ++i) {
      if (branches[i] == nullptr) continue;
      const auto inside = TRY(Inside(branches[i]));
      TRY(Do([=, this]() -> Status {
        const bool taken = one_node ? *conditions[0] == i : *conditions[i] != 0;
        return taken ? RunAll(*inside) : Status();
      }));
    }
    return {};
  }

  int64_t allocated() const { return allocated_; }

  int replays = 0;
  int trips = 0;  // Trips of the loops whose conditions the device evaluated.
  bool fails_to_record = false, fails_to_decide = false;
  Decisions decides = Decisions::kNone;

 private:
  using Step = std::function<Status()>;
  struct Steps : Recording {
    std::vector<Step> steps;
  };

  uint32_t* MakeCondition() { return conditions_.emplace_back(std::make_unique<uint32_t>(0xbad)).get(); }
  Status LaunchWith(const LoadedKernel& kernel, std::vector<void*> conditions, std::span<void* const> arguments) {
    conditions.insert(conditions.end(), arguments.begin(), arguments.end());
    return Launch(kernel, conditions);
  }
  // Returns the steps that `queue` queues, instead of adding them to the recording.
  Result<std::shared_ptr<Steps>> Inside(const std::function<Status()>& queue) {
    const auto outer = std::exchange(recording_, std::make_shared<Steps>());
    const Status queued = queue();
    auto inside = std::exchange(recording_, outer);
    TRY(queued);
    return inside;
  }
  static Status RunAll(const Steps& steps) {
    for (const Step& step : steps.steps) TRY(step());
    return {};
  }

  Status MustNotRecord(std::string_view what) const {
    if (recording_ != nullptr) FAIL(DeviceError("R014", std::string(what) + " while steps are recorded"));
    return {};
  }

  Status Do(Step step) {
    if (recording_ == nullptr) return step();
    recording_->steps.push_back(std::move(step));
    return {};
  }

  std::unique_ptr<Device> host_ = OpenHostDevice();
  std::shared_ptr<Steps> recording_;  // If null, queued steps run at once.
  std::vector<std::unique_ptr<uint32_t>> conditions_;
  int64_t allocated_ = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_TESTS_GPU_FAR_DEVICE_H_
