#include "gpu/kernel/sanitizer.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace hlo::kernel {

std::string_view ToString(Finding finding) {
  constexpr std::string_view kNames[] = {"shared race",       "global race",       "cross-block race",
                                         "out of bounds",     "misaligned access", "uninitialised shared",
                                         "divergent barrier", "divergent shuffle"};
  return kNames[static_cast<int>(finding)];
}

std::string SanitizerFinding::ToString() const {
  std::string text(kernel::ToString(finding));
  if (!array.empty()) text += Str(" at '", array, "'[", element, "]");
  text += Str(", block ", block, " thread ", thread);
  if (finding <= Finding::kCrossBlockRace) {
    text += Str(", with block ", other_block, other_thread < 0 ? " several threads" : Str(" thread ", other_thread));
  }
  if (!source.empty()) text += Str(", in '", source, "'");
  if (count > 1) text += Str(" (", count, " times)");
  return text;
}

std::string SanitizerReport::ToString() const {
  std::string text;
  for (const SanitizerFinding& finding : findings) text += Str("kernel '", kernel, "': ", finding.ToString(), "\n");
  return text;
}

Sanitizer::Sanitizer(const Kernel& kernel, std::vector<char*> bases)
    : kernel_(kernel),
      bases_(std::move(bases)),
      cells_(kernel.arrays.size()),
      warp_epochs_(kernel.warps()),
      released_before_(kernel.blocks, -1) {
  report_.kernel = kernel.name;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const ArrayKind kind = kernel.arrays[i].kind;
    if (kind != ArrayKind::kInput && kind != ArrayKind::kTable) cells_[i].Watch(kernel.arrays[i].elements);
  }
}

void Sanitizer::BeginBlock(int64_t block) {
  block_ = static_cast<int32_t>(block);
  epoch_ = 0;
  std::fill(warp_epochs_.begin(), warp_epochs_.end(), 0);
  fenced_ = false;
  acquired_at_ = -1;
}

Sanitizer::Mark Sanitizer::Now(int thread, bool atomic) const {
  return {.block = block_,
          .epoch = epoch_,
          .warp_epoch = warp_epochs_[thread / kWarpSize],
          .thread = static_cast<int16_t>(thread),
          .atomic = atomic};
}

bool Sanitizer::Conflicts(const Mark& before, bool shared, int thread) const {
  if (before.block < 0) return false;
  if (before.block != block_) {
    if (shared) return false;  // Another block's memory.
    const bool released = before.epoch < released_before_[before.block];
    const bool acquired = acquired_at_ >= 0 && epoch_ > acquired_at_;
    return !(released && acquired);
  }
  if (before.epoch != epoch_) return false;
  if (before.several_warps) return true;
  if (before.thread / kWarpSize == thread / kWarpSize && before.warp_epoch != warp_epochs_[thread / kWarpSize])
    return false;
  return before.several_lanes || before.thread != thread;
}

// One mark stands for all readers of an epoch: the last one, and whether there were more. Readers of the own warp
// before a warp barrier may be forgotten: they are ordered with that warp, and for other warps the last one is as good.
void Sanitizer::NoteRead(Mark& read, int thread) const {
  const Mark now = Now(thread, false);
  const bool same_epoch = read.block == block_ && read.epoch == epoch_;
  if (!same_epoch) {
    read = now;
    return;
  }
  const bool same_warp = read.thread / kWarpSize == thread / kWarpSize;
  const bool several_warps = read.several_warps || !same_warp;
  const bool several_lanes =
      same_warp && read.warp_epoch == now.warp_epoch && (read.several_lanes || read.thread != thread);
  read = now;
  read.several_warps = several_warps;
  read.several_lanes = several_lanes;
}

int Sanitizer::FindArray(const char* address) const {
  for (size_t i = 0; i < bases_.size(); ++i) {
    const ArrayInfo& array = kernel_.arrays[i];
    if (bases_[i] && address >= bases_[i] && address < bases_[i] + array.elements * Bytes(array.type))
      return static_cast<int>(i);
  }
  return -1;
}

void Sanitizer::Report(Finding finding, int array, int source, int64_t element, int thread, const Mark* other) {
  const auto [known, is_new] = known_.emplace(std::tuple(finding, array, source), report_.findings.size());
  if (!is_new) {
    ++report_.findings[known->second].count;
    return;
  }
  report_.findings.push_back({
      .finding = finding,
      .array = array >= 0 ? kernel_.arrays[array].name : "",
      .source = source >= 0 ? kernel_.sources[source] : "",
      .element = element,
      .block = block_,
      .thread = thread,
      .other_block = other ? other->block : 0,
      .other_thread = other && !other->several_lanes && !other->several_warps ? other->thread : -1,
  });
}

void Sanitizer::Diverged(Finding finding, int thread) { Report(finding, -1, -1, 0, thread); }

void* Sanitizer::Access(const AccessSite& site, int thread, void* address) {
  const char* const byte = static_cast<const char*>(address);
  const int id = site.array >= 0 ? site.array : FindArray(byte);
  if (id < 0) {
    Report(Finding::kOutOfBounds, -1, site.source, 0, thread);
    return sink_;
  }
  const ArrayInfo& array = kernel_.arrays[id];
  const int64_t offset = byte - bases_[id];
  const int element_bytes = Bytes(array.type);
  const int64_t first = offset / element_bytes;
  if (offset < 0 || offset + site.bytes > array.elements * element_bytes) {
    Report(Finding::kOutOfBounds, id, site.source, first, thread);
    std::memset(sink_, 0, sizeof sink_);
    return sink_;
  }
  if (offset % site.alignment != 0) Report(Finding::kMisaligned, id, site.source, first, thread);
  if (!cells_[id].watched()) return address;

  const bool shared = array.kind == ArrayKind::kShared;
  const Finding race_here = shared ? Finding::kSharedRace : Finding::kGlobalRace;
  const auto race = [&](const Mark& other, int64_t element) {
    Report(other.block == block_ ? race_here : Finding::kCrossBlockRace, id, site.source, element, thread, &other);
  };
  for (int64_t element = first; element < first + site.bytes / element_bytes; ++element) {
    Cell& cell = cells_[id][element];
    const bool ordered_by_atomics = site.atomic && cell.write.atomic;
    if (!ordered_by_atomics && Conflicts(cell.write, shared, thread)) race(cell.write, element);
    if (site.writes) {
      if (Conflicts(cell.read, shared, thread)) race(cell.read, element);
      cell.write = Now(thread, site.atomic);
    } else {
      if (shared && cell.write.block != block_) Report(Finding::kUninitialisedShared, id, site.source, element, thread);
      NoteRead(cell.read, thread);
    }
  }
  if (site.atomic && fenced_ && !shared) {
    released_before_[block_] = epoch_;
    acquired_at_ = epoch_;
  }
  return address;
}

}  // namespace hlo::kernel
