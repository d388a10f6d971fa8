#include "gpu/runtime/executable.h"

#include "base/check.h"
#include "base/text.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/planned.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/run/runner.h"

namespace hlo::gpu {
namespace {

class BoundProgram : public Executable {
 public:
  BoundProgram(std::shared_ptr<const Program> program, std::unique_ptr<Binding> binding)
      : program_(std::move(program)), device_(binding->device()), binding_(std::move(binding)) {}

  std::shared_ptr<const Program> program() const override { return program_; }
  const Module& module() const override { return *program_->module; }
  const Device& device() const override { return device_; }
  std::span<const StepInfo> steps() const override { return program_->steps; }
  const MemoryReport& memory() const override { return program_->memory; }
  const CompileReport& report() const override { return program_->report; }
  std::string BuffersText() const override { return ToString(program_->buffers); }

  Status Bind(std::span<const Literal> arguments) override {
    if (binding_ == nullptr) binding_ = TRY(Binding::Make(program_, device_));
    TRY(binding_->Bind(arguments));
    bound_ = true;
    ready_ = false;
    return {};
  }

  void Unbind() override {
    binding_ = nullptr;
    bound_ = ready_ = ran_ = false;
  }

  Status MakeReady() override {
    CHECK(bound_, "a run before Bind");
    if (!ready_) TRY(binding_->MakeReady());
    ready_ = true;
    return {};
  }

  Status Execute(const RunOptions& options) override {
    if (options.observer != nullptr) {
      TRY(binding_->SpoilResults());
      ready_ = false;  // Donated arguments may share memory with results.
    }
    TRY(MakeReady());
    ready_ = false;
    ran_ = false;
    TRY(RunSerially(*binding_, options, &host_call_seconds_));
    ran_ = true;
    return {};
  }

  double HostCallSeconds() const override { return host_call_seconds_; }

  Result<Literal> Output() override {
    CHECK(ran_, "Output before a successful Execute");
    return binding_->Output();
  }

 private:
  std::shared_ptr<const Program> program_;
  Device& device_;
  std::unique_ptr<Binding> binding_;
  double host_call_seconds_ = 0;
  bool bound_ = false, ready_ = false, ran_ = false;
};

}  // namespace

std::string LaunchText(const EmittedKernel& kernel) {
  const int64_t blocks = kernel.kernel->blocks;
  return Str(kernel.emitter, ", ", blocks, blocks == 1 ? " block of " : " blocks of ", kernel.kernel->threads);
}

std::string_view ToString(StepKind kind) {
  switch (kind) {
    case StepKind::kKernel: return "kernel";
    case StepKind::kGemm: return "gemm";
    case StepKind::kConvolution: return "convolution";
    case StepKind::kAttention: return "attention";
    case StepKind::kCopy: return "copy";
    case StepKind::kFill: return "fill";
    case StepKind::kHostCall: return "host call";
  }
  return "";
}

Result<std::unique_ptr<Executable>> BindProgram(std::shared_ptr<const Program> program, Device& device) {
  auto binding = TRY(Binding::Make(program, device));
  return std::make_unique<BoundProgram>(std::move(program), std::move(binding));
}

Result<std::unique_ptr<Executable>> Compile(std::shared_ptr<const PlannedModule> planned, Device& device,
                                            const CompileOptions& options) {
  return BindProgram(TRY(CompileProgram(std::move(planned), device, options)), device);
}

Result<std::unique_ptr<Executable>> Compile(const Module& optimized, Device& device, const CompileOptions& options) {
  return Compile(TRY(Plan(optimized, device, options)), device, options);
}

}  // namespace hlo::gpu
