#include "gpu/libraries/open.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "base/crash.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/libraries/attention.h"
#include "gpu/libraries/attention_gradient.h"
#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn.h"
#include "gpu/libraries/cudnn_attention.h"
#include "gpu/libraries/onednn.h"
#include "gpu/libraries/small_product.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

// Up to this many rows, a pointwise convolution is faster as a product, whose weights need no reordering (measured in
// commit 2c2fd2e3).
constexpr int64_t kFewRows = 256;

using Open = Result<LibraryAnswer>(const Contraction& contraction, Device* device, const LibraryOptions& options);

LibraryAnswer No(std::string why) { return {nullptr, std::move(why)}; }

Result<LibraryAnswer> OpenSmallProduct(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const MatrixAnswer matrix = ReadMatrixProduct(contraction);
  if (!matrix.why_not.empty()) return No(matrix.why_not);
  return SmallMatrixProduct(matrix.product, device ? &options : nullptr);
}

Result<LibraryAnswer> OpenOneDnnProduct(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const MatrixAnswer matrix = ReadMatrixProduct(contraction);
  if (!matrix.why_not.empty()) return No(matrix.why_not);
  return OneDnnMatrixProduct(matrix.product, device ? &options : nullptr);
}

Result<LibraryAnswer> OpenPointwise(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const MatrixAnswer point = ReadPointwiseConvolution(contraction);
  if (!point.why_not.empty()) return No(point.why_not);
  if (options.library.empty() && point.product.m > kFewRows)
    return No(Str("with more than ", kFewRows, " rows, a convolution is as fast"));
  return OneDnnMatrixProduct(point.product, device ? &options : nullptr);
}

// "", or the reason to use our own kernel. oneDNN has no depthwise convolution unless channels are the minor dimension.
// Moving them there takes longer than the convolution (measured in commit e4d0ed59).
std::string_view WhyOwnDepthwise(const Contraction& contraction) {
  constexpr int64_t kMostElements = 25;
  const ConvolutionAnswer read = ReadConvolution(contraction);
  if (!read.why_not.empty() || !read.problem.IsDepthwise()) return "";
  int64_t elements = 1;
  for (size_t d = 2; d < read.problem.weights.dims.size(); ++d) elements *= read.problem.weights.dims[d];
  if (elements > kMostElements || OrderInMemory(read.problem.images).back() == 1) return "";
  return "it is depthwise with channels outside the minor dimension, for which a kernel of hlokit is faster";
}

Result<LibraryAnswer> OpenOneDnnConvolution(const Contraction& contraction, Device* device,
                                            const LibraryOptions& options) {
  if (options.library.empty()) {
    if (const std::string_view why = WhyOwnDepthwise(contraction); !why.empty()) return No(std::string(why));
  }
  return OneDnnConvolution(contraction, device ? &options : nullptr);
}

Result<LibraryAnswer> OpenCublasLt(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const MatrixAnswer matrix = ReadMatrixProduct(contraction);
  if (!matrix.why_not.empty()) return No(matrix.why_not);
  return CublasLtMatrixProduct(matrix.product, device, options);
}

// Runs a pointwise convolution as a product, which needs no reordered weights and supports more epilogues.
Result<LibraryAnswer> OpenCublasLtPointwise(const Contraction& contraction, Device* device,
                                            const LibraryOptions& options) {
  const MatrixAnswer point = ReadPointwiseConvolution(contraction);
  if (!point.why_not.empty()) return No(point.why_not);
  return CublasLtMatrixProduct(point.product, device, options);
}

struct Library {
  std::string_view name;  // The name in plans.
  Opcode product;
  bool on_host;
  Open* open;
  bool takes_sums = false;  // Also computes channel sums.

  Result<LibraryAnswer> Ask(const Contraction& contraction, Device* device, const LibraryOptions& options) const {
    if (!contraction.sums.empty() && !takes_sums) return No("its calls cannot compute sums of the result");
    return open(contraction, device, options);
  }
};
// In the order of preference.
constexpr Library kLibraries[] = {
    {kOwnLibrary, Opcode::kDot, true, OpenSmallProduct},
    {"oneDNN", Opcode::kDot, true, OpenOneDnnProduct},
    {"oneDNN matmul", Opcode::kConvolution, true, OpenPointwise},
    {"oneDNN", Opcode::kConvolution, true, OpenOneDnnConvolution},
    {"cuBLASLt", Opcode::kDot, false, OpenCublasLt},
    {"cuBLASLt", Opcode::kConvolution, false, OpenCublasLtPointwise},
    {"cuDNN", Opcode::kConvolution, false, CudnnConvolution, true},
};

std::vector<const Library*> LibrariesFor(Opcode product, bool on_host) {
  std::vector<const Library*> libraries;
  for (const Library& library : kLibraries) {
    if (library.product == product && library.on_host == on_host) libraries.push_back(&library);
  }
  return libraries;
}

Result<std::vector<const Library*>> Candidates(const Instruction& fusion, const KernelPlan& plan, Opcode product,
                                               bool on_host) {
  std::vector<const Library*> libraries = LibrariesFor(product, on_host);
  if (plan.library.empty()) return libraries;
  std::vector<std::string_view> names;
  for (const Library* library : libraries) names.push_back(library->name);
  std::erase_if(libraries, [&](const Library* library) { return library->name != plan.library; });
  if (!libraries.empty()) return libraries;
  FAIL(PlanError(fusion,
                 Str("no library for a ", ToString(product), " on ", on_host ? "cpu" : "cuda", " is called '",
                     Escaped(plan.library), "'", names.empty() ? "" : Str("; the libraries are ", Join(names, ", ")))));
}

// Runs serially on the host, because each of our threads has its own number of OpenMP threads.
void ForEachCall(int64_t count, const Device& device, const std::function<void(int64_t)>& work) {
  ParallelFor(count, device.IsHost() ? count : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(i);
  });
}

template <class Open>
std::vector<LibraryAnswer> OpenEach(const Open& open, std::span<const std::string> algorithms, const Device& device,
                                    const LibraryOptions& options) {
  std::vector<LibraryAnswer> answers(algorithms.size());
  ForEachCall(std::ssize(answers), device, [&](int64_t i) {
    LibraryOptions own = options;
    own.algorithm = algorithms[i];
    own.notes = nullptr;
    if (auto answer = open(own)) answers[i] = std::move(*answer);
  });
  return answers;
}

constexpr std::string_view kCudnn = "cuDNN";  // The only library with attention or calls in parts.

struct AnyAttention {
  explicit AnyAttention(const Instruction& fusion) : forward(ReadAttention(fusion)) {
    if (!forward.why_not.empty()) gradient = ReadAttentionGradient(fusion);
  }

  bool is_forward() const { return forward.why_not.empty(); }
  const std::string& why_not() const { return is_forward() || gradient.why_not.empty() ? kNothing : forward.why_not; }
  std::string WhyNotTakenByRule() const {
    return is_forward() ? WhyNotByRule(forward.problem) : WhyNotByRule(gradient.problem);
  }
  Result<LibraryAnswer> Ask(Device* device, const LibraryOptions& options) const {
    return is_forward() ? CudnnAttention(forward.problem, device, options)
                        : CudnnAttentionGradient(gradient.problem, device, options);
  }

  inline static const std::string kNothing;
  AttentionAnswer forward;
  AttentionGradientAnswer gradient;
};

Result<LibraryChoice> OpenAttention(const Instruction& fusion, const KernelPlan& plan, Device& device,
                                    LibraryOptions options) {
  const AnyAttention read(fusion);
  std::string why_not = read.why_not();
  if (!plan.library.empty() && plan.library != kCudnn)
    FAIL(PlanError(
        fusion, Str("no library for an attention is called '", Escaped(plan.library), "'; the only one is ", kCudnn)));
  const bool is_own = plan.kind == KernelKind::kAttention;  // The algorithm is our kernel's.
  if (why_not.empty() && is_own) why_not = read.WhyNotTakenByRule();
  LibraryChoice choice;
  if (why_not.empty()) {
    options.library = kCudnn;
    options.algorithm = is_own ? "" : plan.algorithm;
    LibraryAnswer answer = TRY(read.Ask(&device, options));
    const int64_t workspace = answer.call ? answer.call->ScratchBytes() : 0;
    if (plan.workspace > 0 && workspace > plan.workspace)
      answer = No(Str("it takes ", workspace, " bytes of workspace, more than ", plan.workspace));
    why_not = std::move(answer.why_not);
    choice.call = std::move(answer.call);
    if (choice.call != nullptr)
      choice.plan = {.kind = KernelKind::kLibraryAttention,
                     .library = std::string(kCudnn),
                     .algorithm = choice.call->algorithm(),
                     .workspace = workspace};
  }
  if (choice.call != nullptr) return choice;
  if (!plan.library.empty()) FAIL(PlanError(fusion, Str(kCudnn, ": ", why_not)));
  choice.refusals.push_back({kCudnn, std::move(why_not)});
  return choice;
}

}  // namespace

bool IsOwnAttention(const FusionPlan& plan) {
  return plan.kernels.size() == 1 && plan.kernels[0].kind == KernelKind::kAttention && plan.kernels[0].library.empty();
}
std::optional<FusionPlan> LibraryPlanOfRegion(const Instruction& fusion, Device& device, const LibraryOptions& options,
                                              bool may_measure) {
  const bool is_convolution = LibraryOf(fusion) == ToString(KernelKind::kConvolution);
  const KernelPlan asked{.kind = is_convolution ? KernelKind::kConvolution : KernelKind::kAttention};
  auto choice =
      is_convolution ? OpenLibraryCall(fusion, asked, device, options) : OpenAttention(fusion, asked, device, options);
  if (!choice || choice->call == nullptr) return std::nullopt;
  if (!is_convolution) return FusionPlan{.kernels = {std::move(choice->plan)}};
  // The plan names no algorithm, so the compiler chooses again.
  if (!may_measure && !choice->call->is_whole()) return std::nullopt;
  return FusionPlan{.kernels = {asked}};
}
bool HasOwnPart(const KernelPlan& plan) { return plan.library == kCudnn && plan.algorithm.starts_with(kCudnnParts); }
bool HasAttention(const Instruction& fusion) { return AnyAttention(fusion).why_not().empty(); }

Result<LibraryChoice> OpenLibraryCall(const Instruction& fusion, const KernelPlan& plan, Device& device,
                                      const LibraryOptions& options) {
  if (plan.kind == KernelKind::kAttention || plan.kind == KernelKind::kLibraryAttention)
    return OpenAttention(fusion, plan, device, options);
  const ContractionAnswer read = ReadContraction(fusion);
  LibraryChoice choice;
  if (!read.why_not.empty()) {
    choice.refusals.push_back({"", read.why_not});
    return choice;
  }
  const Opcode product = read.contraction.product->opcode();
  LibraryOptions own = options;
  own.library = plan.library;
  own.algorithm = plan.algorithm;
  for (const Library* library : TRY(Candidates(fusion, plan, product, device.IsHost()))) {
    LibraryAnswer answer = TRY(library->Ask(read.contraction, &device, own));
    const int64_t workspace = answer.call ? answer.call->ScratchBytes() : 0;
    if (plan.workspace > 0 && workspace > plan.workspace)
      answer = No(Str("it takes ", workspace, " bytes of workspace, more than ", plan.workspace));
    if (answer.call != nullptr) {
      choice.plan = {.kind = plan.kind,
                     .library = std::string(library->name),
                     .algorithm = answer.call->algorithm(),
                     .workspace = workspace};
      choice.call = std::move(answer.call);
      return choice;
    }
    if (!plan.library.empty()) FAIL(PlanError(fusion, Str(library->name, ": ", answer.why_not)));
    choice.refusals.push_back({library->name, std::move(answer.why_not)});
  }
  return choice;
}

std::vector<Result<LibraryChoice>> OpenLibraryCalls(std::span<const LibraryRequest> requests, Device& device,
                                                    const LibraryOptions& options) {
  // Equal requests come last, to find a finished result without waiting.
  std::vector<size_t> order, again;
  std::set<uint64_t> seen;
  for (size_t i = 0; i < requests.size(); ++i)
    (seen.insert(Fingerprint(FusedComputation(*requests[i].fusion))).second ? order : again).push_back(i);
  std::ranges::copy(again, std::back_inserter(order));
  std::vector<Result<LibraryChoice>> choices(requests.size());
  ForEachCall(std::ssize(order), device, [&](int64_t i) {
    const auto& [fusion, plan] = requests[order[i]];
    const AtHand at_hand("library call", fusion->name());
    std::vector<std::string> notes;
    LibraryOptions own = options;
    own.notes = &notes;
    Result<LibraryChoice>& choice = choices[order[i]];
    choice = OpenLibraryCall(*fusion, *plan, device, own);
    if (choice) choice->notes = std::move(notes);
  });
  return choices;
}

Result<std::vector<KernelPlan>> LibraryPlans(const Instruction& fusion, KernelKind kind, Device& device,
                                             const LibraryOptions& options, int most) {
  std::vector<KernelPlan> plans;
  const auto add = [&](std::string_view library, const LibraryCall& call) {
    KernelPlan plan{.kind = kind};
    plan.library = library;
    plan.algorithm = call.algorithm();
    plan.workspace = call.ScratchBytes();
    if (std::ranges::find(plans, plan) == plans.end()) plans.push_back(std::move(plan));
  };
  const auto add_some = [&](std::string_view library, const auto& open) -> Status {
    LibraryOptions own = options;
    own.library = library;
    own.list = true;
    const LibraryAnswer first = TRY(open(own));
    if (first.call == nullptr) return {};
    add(library, *first.call);
    own.list = false;
    std::vector<std::string> others = first.call->algorithms();
    std::erase(others, first.call->algorithm());
    int left = most - 1;
    for (size_t begin = 0; left > 0 && begin < others.size();) {
      const auto some = std::span(others).subspan(begin, std::min<size_t>(left, others.size() - begin));
      for (const LibraryAnswer& answer : OpenEach(open, some, device, own)) {
        if (answer.call == nullptr) continue;
        add(library, *answer.call);
        --left;
      }
      begin += some.size();
    }
    return {};
  };
  if (kind == KernelKind::kLibraryAttention) {
    const AnyAttention attention(fusion);
    if (!attention.why_not().empty() || device.IsHost()) return plans;
    TRY(add_some(kCudnn, [&](const LibraryOptions& own) { return attention.Ask(&device, own); }));
    return plans;
  }
  const ContractionAnswer read = ReadContraction(fusion);
  if (!read.why_not.empty()) return plans;
  for (const Library* library : LibrariesFor(read.contraction.product->opcode(), device.IsHost())) {
    TRY(add_some(library->name,
                 [&](const LibraryOptions& own) { return library->Ask(read.contraction, &device, own); }));
  }
  return plans;
}

std::vector<Refusal> ConsultLibraries(const Instruction& fusion, bool on_host) {
  const ContractionAnswer read = ReadContraction(fusion);
  if (!read.why_not.empty()) return {{"", read.why_not}};
  const Opcode product = read.contraction.product->opcode();
  std::vector<Refusal> refusals;
  for (const Library* library : LibrariesFor(product, on_host)) {
    const auto answer = library->Ask(read.contraction, nullptr, {});
    refusals.push_back({library->name, answer ? answer->why_not : answer.error().message()});
  }
  return refusals;
}

}  // namespace hlo::gpu
