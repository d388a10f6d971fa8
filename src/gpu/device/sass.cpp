#include "gpu/device/sass.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/nvptx_lowering.h"
#include "gpu/device/nvjitlink.h"
#include "gpu/kernel/distinct.h"
#include "gpu/kernel/kernel_words.h"

namespace hlo::gpu {
namespace {

// Kernels in one run share the assembler's start-up time.
constexpr size_t kMostTogether = 16;
constexpr double kSecondsOfPtxas = 600;  // Limit for one run.

// Numbers before the cubin in a cache entry.
using Numbers = std::array<int64_t, 6>;

std::string EntryOf(size_t number) { return Str("kernel", number); }

std::string Packed(const Sass& sass) {
  const kernel::PtxasKernel& report = sass.report;
  const Numbers numbers = {report.registers,   report.spill_store_bytes, report.spill_load_bytes,
                           report.stack_bytes, report.shared_bytes,      sass.dynamic_shared_bytes};
  return std::string(reinterpret_cast<const char*>(numbers.data()), sizeof numbers) + *sass.cubin;
}

std::optional<Sass> Unpacked(const std::string& code) {
  Numbers numbers;
  if (code.size() < sizeof numbers) return std::nullopt;
  std::memcpy(numbers.data(), code.data(), sizeof numbers);
  Sass sass{.cubin = std::make_shared<std::string>(code.substr(sizeof numbers)), .report = {.entry = EntryOf(0)}};
  kernel::PtxasKernel& report = sass.report;
  std::tie(report.registers, report.spill_store_bytes, report.spill_load_bytes, report.stack_bytes, report.shared_bytes,
           sass.dynamic_shared_bytes) = std::tuple_cat(numbers);
  sass.was_kept = true;
  return sass;
}

kernel::CodeKey KeyOf(const kernel::Kernel& kernel, const kernel::NvptxOptions& options, const Assembler& assembler) {
  kernel::Kernel code = kernel;
  kernel::ForgetForNvptx(code);
  return kernel::KeyOf({"sass", options.arch, Str(options.ptx_version), assembler.text, kernel::WordsOf(code)});
}

Result<kernel::PtxasReport> Assemble(const std::string& ptx, const std::string& arch, const Assembler& assembler) {
  if (assembler.kind == Assembler::Kind::kNvJitLink) return NvJitLink(ptx, arch, assembler.search);
  return kernel::Ptxas(ptx, arch, kSecondsOfPtxas);
}

Result<std::vector<Sass>> AssembleTogether(std::span<const kernel::Ptx> parts, const std::string& arch,
                                           const Assembler& assembler) {
  kernel::PtxasReport report = TRY(Assemble(kernel::JoinPtx(parts), arch, assembler));
  const auto cubin = std::make_shared<const std::string>(std::move(report.cubin));
  std::vector<Sass> made;
  for (const kernel::Ptx& part : parts) {
    const auto found = std::ranges::find(report.kernels, part.entry, &kernel::PtxasKernel::entry);
    if (found == report.kernels.end())
      FAIL(DeviceError("R105", Str(assembler.text, " made no code for '", part.entry, "'")));
    made.push_back({.cubin = cubin, .report = *found, .dynamic_shared_bytes = part.dynamic_shared_bytes});
  }
  return made;
}

// Several groups for each thread, so that threads end at about the same time.
std::vector<std::vector<size_t>> GroupsOf(const std::vector<size_t>& missing, std::span<const int64_t> sizes,
                                          size_t most) {
  int64_t all = 0;
  for (const size_t i : missing) all += sizes[i];
  const int64_t enough = all / (4 * Threads());
  std::vector<std::vector<size_t>> groups;
  int64_t size = 0;
  for (const size_t i : missing) {
    if (groups.empty() || size >= enough || groups.back().size() == most) {
      groups.emplace_back();
      size = 0;
    }
    groups.back().push_back(i);
    size += sizes[i];
  }
  return groups;
}

}  // namespace

// Prefers ptxas: nvJitLink treats PTX as a part of a larger program, and its code needs more registers (version 13.0).
Result<Assembler> FindAssembler(const std::vector<std::string>& search) {
  auto ptxas = kernel::PtxasVersion();
  if (ptxas) return Assembler{Assembler::Kind::kPtxas, "ptxas, " + *ptxas, {}};
  if (const auto version = NvJitLinkVersion(search))
    return Assembler{Assembler::Kind::kNvJitLink, "nvJitLink " + *version, search};
  FAIL(std::move(ptxas).error());
}

Result<std::vector<Sass>> MakeSass(std::span<const kernel::Kernel* const> kernels, const kernel::NvptxOptions& options,
                                   const Assembler& assembler, kernel::CodeCache* kept) {
  const kernel::DistinctKernels distinct = kernel::FindDistinct(kernels, kernel::ForgetForNvptx);
  std::vector<std::optional<Sass>> made(distinct.kernels.size());
  if (kept != nullptr) {
    ParallelFor(std::ssize(made), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (const auto code = kept->Find(KeyOf(*distinct.kernels[i], options, assembler))) made[i] = Unpacked(*code);
      }
    });
  }
  std::vector<size_t> missing;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) missing.push_back(i);
  }
  const auto groups = GroupsOf(missing, distinct.sizes, kept == nullptr ? kMostTogether : 1);
  std::vector<Status> done(groups.size());
  ParallelFor(std::ssize(groups), 1, [&](int64_t begin, int64_t end) {
    const auto make = [&](const std::vector<size_t>& group) -> Status {
      std::vector<kernel::Ptx> parts;
      for (const size_t i : group) {
        kernel::Kernel kernel = *distinct.kernels[i];
        kernel.name = EntryOf(parts.size());
        parts.push_back(TRY(kernel::EmitPtx(kernel, options)));
      }
      std::vector<Sass> together = TRY(AssembleTogether(parts, options.arch, assembler));
      for (size_t i = 0; i < group.size(); ++i) {
        if (kept != nullptr) kept->Keep(KeyOf(*distinct.kernels[group[i]], options, assembler), Packed(together[i]));
        made[group[i]] = std::move(together[i]);
      }
      return {};
    };
    for (int64_t i = begin; i < end; ++i) done[i] = make(groups[i]);
  });
  if (kept != nullptr) kept->MakeRoom();
  for (Status& one : done) TRY(std::move(one));
  std::vector<Sass> all;
  for (const size_t which : distinct.which) all.push_back(*made[which]);
  return all;
}

}  // namespace hlo::gpu
