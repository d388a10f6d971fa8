#include "driver/inspect/fusion_report.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "ir/analysis/cost.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"

namespace hlo {
namespace {

constexpr const char* kSeeAll = "--print_fusion_plan=all";

std::string Names(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string out = Join(std::span(names).first(shown), ", ");
  if (shown < names.size()) out += Str(shown > 0 ? " and " : "", names.size() - shown, shown > 0 ? " more" : "");
  return out;
}

std::string KernelText(const KernelPlan& plan) {
  std::string out = std::string(ToString(plan.kind));
  if (!plan.heroes.empty()) out += Str(" of ", Join(plan.heroes, ", "));
  if (!plan.library.empty()) out += Str(" by ", plan.library);
  if (!plan.tile.empty()) out += Str(", tile ", Join(plan.tile, "x"));
  if (plan.vector > 1) out += Str(", vector ", plan.vector);
  if (plan.threads > 1) out += Str(", ", plan.threads, " threads");
  if (plan.splits > 1) out += Str(", ", plan.splits, " blocks for each result");
  if (plan.in_place) out += ", in place";
  return out;
}

struct Kernel {
  const Instruction* fusion;
  const Instruction* region = nullptr;
  std::string plan;
  std::string slow;
  std::vector<FusionLog::Note> joins, stored, apart;
  bool known = false, made = false;  // `known`: the log has the kernel. `made`: the passes made it.
  int64_t instructions = 0, shared = 0;
  double read = 0, written = 0, alone = 0;  // Bytes.

  double saved() const { return alone - read - written; }
};

void AddNotes(const FusionLog& log, const std::string& name, Kernel* kernel) {
  std::vector<const std::string*> worklist = {&name};
  for (size_t i = 0; i < worklist.size(); ++i) {
    const auto found = log.groups.find(*worklist[i]);
    if (found == log.groups.end()) continue;
    const FusionLog::Group& group = found->second;
    kernel->known = true;
    kernel->made |= group.made;
    kernel->shared += group.shared;
    kernel->alone += group.bytes_alone;
    for (const std::string& part : group.parts) worklist.push_back(&part);
    for (const FusionLog::Note& note : group.notes) {
      if (!Joins(note.reason)) {
        // Only the first note on a group counts, because it has the reason that decided.
        const bool again =
            note.of_two && std::ranges::find(kernel->apart, note.names, &FusionLog::Note::names) != kernel->apart.end();
        const bool said = note.names.empty() && std::ranges::find(kernel->stored, note.reason,
                                                                  &FusionLog::Note::reason) != kernel->stored.end();
        if (!again && !said) (note.of_two ? kernel->apart : kernel->stored).push_back(note);
        continue;
      }
      const auto same = [&](const FusionLog::Note& other) { return other.text == note.text; };
      const auto at = std::ranges::find_if(kernel->joins, same);
      if (at == kernel->joins.end()) {
        kernel->joins.push_back(note);
        continue;
      }
      at->names.insert(at->names.end(), note.names.begin(), note.names.end());
      at->bytes += note.bytes;
    }
  }
  std::ranges::stable_sort(kernel->apart, std::greater(), &FusionLog::Note::bytes);
}

bool IsComputing(const Instruction& inst) {
  return !inst.Is(kNoKernel) && !inst.Is(Opcode::kConstant) && !inst.Is(Opcode::kParameter);
}

Kernel KernelOf(const Instruction& fusion, const CostAnalysis& costs, const FusionLog& log) {
  Kernel kernel{.fusion = &fusion};
  const auto plan = ReadPlan(fusion);
  if (plan && *plan) {
    std::vector<std::string> kernels;
    for (const KernelPlan& one : (*plan)->kernels) kernels.push_back(KernelText(one));
    kernel.plan = Join(kernels, " + ");
    kernel.slow = (*plan)->slow;
  }
  AddNotes(log, std::string(fusion.name()), &kernel);
  for (const Instruction* inst : FusedComputation(fusion).instructions()) {
    if (!IsComputing(*inst)) continue;
    ++kernel.instructions;
    if (!kernel.known) kernel.alone += costs.CostOf(*inst).bytes();
  }
  kernel.read = costs.CostOf(fusion).bytes_read;
  kernel.written = costs.CostOf(fusion).bytes_written;
  return kernel;
}

std::string Likeness(const Kernel& kernel) {
  std::string key = Str(kernel.fusion->shape(), kernel.region != nullptr ? RegionOf(*kernel.region) : "",
                        kernel.plan.substr(0, kernel.plan.find(" of ")), kernel.read, "/", kernel.written, "/",
                        kernel.alone, kernel.slow);
  std::map<std::string_view, int> opcodes;
  for (const Instruction* inst : FusedComputation(*kernel.fusion).instructions()) ++opcodes[ToString(inst->opcode())];
  for (const auto& [opcode, count] : opcodes) key += Str(" ", opcode, count);
  for (const auto* notes : {&kernel.joins, &kernel.stored, &kernel.apart}) {
    for (const FusionLog::Note& note : *notes) key += Str(" ", NameOf(note.reason), note.names.size());
  }
  return key;
}

void AddLine(std::string_view word, const std::string& text, std::string* out) {
  *out += Format("  %-10s", std::string(word).c_str()) + text + "\n";
}

void AddBlock(const std::vector<Kernel>& alike, const FusionReportOptions& options, std::string* out) {
  const Kernel& kernel = alike.front();
  *out += Str(kernel.fusion->name(), " = ", kernel.fusion->shape(), "\n");
  if (alike.size() > 1) {
    std::vector<std::string> others;
    for (size_t i = 1; i < alike.size(); ++i) others.emplace_back(alike[i].fusion->name());
    AddLine("alike", Names(others, options.names), out);
  }
  const bool library = IsLibraryCall(*kernel.fusion);
  AddLine(library ? "library" : "kernel", kernel.plan.empty() ? "none: this kernel cannot be compiled" : kernel.plan,
          out);
  if (!kernel.slow.empty()) AddLine("slow", kernel.slow, out);
  if (kernel.region != nullptr)
    AddLine("region",
            Str(kernel.region->name(), ", of kind ", RegionOf(*kernel.region), ": its kernels may become one launch"),
            out);
  const std::string shared = kernel.shared > 0 ? Str(", ", kernel.shared, " of them in other kernels, too") : "";
  AddLine("computes", Counted(kernel.instructions, "instruction") + shared, out);
  AddLine("moves",
          Str(HumanBytes(kernel.read), " read, ", HumanBytes(kernel.written), " written; without fusion ",
              HumanBytes(kernel.alone), ": ", HumanBytes(std::max(0.0, kernel.saved())), " saved"),
          out);
  if (library) {
    AddLine("fused", "only instructions that the library computes together with its product", out);
  } else if (!kernel.made) {
    AddLine("fused", "not by these passes: the module already had this fusion", out);
  }
  for (const FusionLog::Note& note : kernel.joins) {
    const std::string saves = note.bytes > 0 ? Str(" (", HumanBytes(note.bytes), " saved)") : "";
    AddLine(note.of_two ? "joined" : "fused", Str(Names(note.names, options.names), ": ", note.text, saves), out);
  }
  const auto list = [&](std::string_view word, const std::vector<FusionLog::Note>& notes, std::string_view would) {
    for (size_t i = 0; i < notes.size() && i < options.lines; ++i) {
      const std::string saves = notes[i].bytes > 0 ? Str(" (", HumanBytes(notes[i].bytes), would, ")") : "";
      const std::string_view name = notes[i].names.empty() ? "all others" : std::string_view(notes[i].names.front());
      AddLine(word, Str(name, ": ", notes[i].text, saves), out);
    }
    if (notes.size() > options.lines) AddLine(word, Str("... and ", notes.size() - options.lines, " more"), out);
  };
  list("stored", kernel.stored, "");
  std::vector<FusionLog::Note> apart = kernel.apart;
  std::erase_if(apart, [&](const FusionLog::Note& note) {
    return !note.names.empty() && note.bytes < options.least * (kernel.read + kernel.written);
  });
  list("apart", apart, " would be saved");
  *out += "\n";
}

std::string ReasonCounts(const FusionLog& log) {
  std::vector<std::pair<int64_t, std::string_view>> counts;
  for (int i = 0; i < kFusionReasons; ++i) {
    if (log.counts[i] > 0) counts.emplace_back(log.counts[i], NameOf(static_cast<FusionReason>(i)));
  }
  std::ranges::stable_sort(counts, std::greater(), &std::pair<int64_t, std::string_view>::first);
  std::vector<std::string> texts;
  for (const auto& [count, name] : counts) texts.push_back(Str(count, " ", name));
  return Join(texts, ", ");
}

}  // namespace

std::string FusionReport(const Module& module, const FusionLog& log, const FusionReportOptions& options) {
  const CostAnalysis costs(module);
  std::map<std::string, size_t> by_likeness;
  std::vector<std::vector<Kernel>> blocks;
  Kernel sum{};
  int64_t kernels = 0, libraries = 0;
  std::map<const Computation*, const Instruction*> regions;
  const std::vector<Computation*> computations = ComputationsOfKernels(module);
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (IsRegion(*inst)) regions[&FusedComputation(*inst)] = inst;
    }
  }
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (!IsFusion(*inst) || IsRegion(*inst)) continue;
      Kernel kernel = KernelOf(*inst, costs, log);
      if (const auto region = regions.find(computation); region != regions.end()) kernel.region = region->second;
      ++(IsLibraryCall(*inst) ? libraries : kernels);
      sum.read += kernel.read;
      sum.written += kernel.written;
      sum.alone += kernel.alone;
      sum.instructions += kernel.instructions;
      const auto [at, fresh] = by_likeness.try_emplace(Likeness(kernel), blocks.size());
      if (fresh) blocks.emplace_back();
      blocks[at->second].push_back(std::move(kernel));
    }
  }
  std::ranges::stable_sort(blocks, std::greater(), [](const std::vector<Kernel>& block) {
    return (block.front().read + block.front().written) * static_cast<double>(block.size());
  });
  std::string out;
  size_t hidden = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i < options.blocks) AddBlock(blocks[i], options, &out);
    else hidden += blocks[i].size();
  }
  if (hidden > 0) out += Str("... and ", hidden, " more that move less; ", kSeeAll, " shows them\n\n");
  if (const std::string counts = ReasonCounts(log); !counts.empty()) out += Str("decided: ", counts, "\n");
  const double moved = sum.read + sum.written;
  out += Str(Counted(sum.instructions, "instruction"), " in ", Counted(kernels, "kernel"), " and ",
             Counted(libraries, "library call"), ", which move ", HumanBytes(moved), " instead of ",
             HumanBytes(sum.alone), ": ", HumanBytes(std::max(0.0, sum.alone - moved)), " saved",
             sum.alone > 0 ? Format(" (%.0f %%)", 100 * std::max(0.0, sum.alone - moved) / sum.alone) : "",
             "; loops count once\n", "hlo help WORD explains the words on the left\n");
  return out;
}

}  // namespace hlo
