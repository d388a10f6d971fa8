#include "gpu/codegen/sanitizer.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace hlo::kernel {

std::string_view ToString(Finding finding) {
  constexpr std::string_view kNames[] = {"shared race",       "global race",       "cross-block race",
                                         "out of bounds",     "misaligned access", "uninitialised shared",
                                         "divergent barrier", "divergent shuffle", "early exit"};
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

Sanitizer::Sanitizer(const Kernel& kernel, std::vector<std::vector<ArrayPlace>> places)
    : kernel_(kernel),
      places_(std::move(places)),
      cells_(kernel.arrays.size()),
      begins_(kernel.arrays.size()),
      released_before_(kernel.blocks, -1) {
  report_.kernel = kernel.name;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const ArrayKind kind = kernel.arrays[i].kind;
    int64_t elements = 0;
    for (const ArrayPlace& place : places_[i]) {
      begins_[i].push_back(elements);
      elements += place.elements;
    }
    if (kind == ArrayKind::kShared) elements *= kernel.cluster;
    if (kind != ArrayKind::kInput && kind != ArrayKind::kTable) cells_[i].Watch(elements);
  }
}

void Sanitizer::BeginCluster(int64_t first_block) {
  blocks_.assign(kernel_.cluster, {});
  for (int rank = 0; rank < kernel_.cluster; ++rank) {
    blocks_[rank].number = static_cast<int32_t>(first_block) + rank;
    blocks_[rank].warp_epochs.resize(kernel_.warps());
  }
  rank_ = 0;
  cluster_epoch_ = 0;
}

// Reports a block that ends in the epoch in which another block reads its memory.
void Sanitizer::EndBlock() {
  Block& block = now();
  if (block.ended) return;
  block.ended = true;
  if (block.read_afar == cluster_epoch_) Report(Finding::kEarlyExit, -1, -1, 0, 0);
}

void Sanitizer::PassClusterBarrier() {
  ++cluster_epoch_;
  for (Block& block : blocks_) ++block.epoch;
}

Sanitizer::Mark Sanitizer::Now(int thread, bool atomic) const {
  return {.block = now().number,
          .epoch = now().epoch,
          .warp_epoch = now().warp_epochs[thread / kWarpSize],
          .cluster_epoch = cluster_epoch_,
          .thread = static_cast<int16_t>(thread),
          .atomic = atomic};
}

bool Sanitizer::Conflicts(const Mark& before, bool shared, int thread) const {
  if (before.block < 0) return false;
  // Blocks outside the cluster have separate shared memory.
  if (shared && !IsInCluster(before.block)) return false;
  if (shared && before.several_blocks && before.cluster_epoch == cluster_epoch_) return true;
  if (before.block != now().number) {
    if (shared) return before.cluster_epoch == cluster_epoch_;
    const bool released = before.epoch < released_before_[before.block];
    const bool acquired = now().acquired_at >= 0 && now().epoch > now().acquired_at;
    return !(released && acquired);
  }
  if (before.epoch != now().epoch) return false;
  if (before.several_warps) return true;
  if (before.thread / kWarpSize == thread / kWarpSize && before.warp_epoch != now().warp_epochs[thread / kWarpSize])
    return false;
  return before.several_lanes || before.thread != thread;
}

// A mark represents all readers of an epoch: the last one, and whether there were others. Earlier readers of the same
// warp, before its last barrier, may be forgotten: this warp is ordered after them, and for other warps the last reader
// suffices.
void Sanitizer::NoteRead(Mark& read, bool shared, int thread) const {
  const Mark before = read;
  read = Now(thread, false);
  const bool same_block = before.block == read.block;
  read.several_blocks = shared && before.block >= 0 && IsInCluster(before.block) &&
                        before.cluster_epoch == cluster_epoch_ && (!same_block || before.several_blocks);
  if (!same_block || before.epoch != read.epoch) return;
  const bool same_warp = before.thread / kWarpSize == thread / kWarpSize;
  read.several_warps = before.several_warps || !same_warp;
  read.several_lanes =
      same_warp && before.warp_epoch == read.warp_epoch && (before.several_lanes || before.thread != thread);
}

Sanitizer::Found Sanitizer::Find(const AccessSite& site, const char* address, const void* member) const {
  const bool named = site.array >= 0 && (member != nullptr || kernel_.arrays[site.array].members == 0);
  const size_t begin = named ? site.array : 0, end = named ? site.array + 1 : places_.size();
  for (size_t i = begin; i < end; ++i) {
    for (size_t m = 0; m < places_[i].size(); ++m) {
      const ArrayPlace& place = places_[i][m];
      const Found found{.array = static_cast<int>(i), .member = static_cast<int64_t>(m)};
      if (member != nullptr && place.base == member) return found;
      if (member != nullptr) continue;
      const int64_t bytes = place.elements * Bytes(kernel_.arrays[i].type);
      if (named || (place.base != nullptr && address >= place.base && address < place.base + bytes)) return found;
    }
  }
  return {};
}

void Sanitizer::Report(Finding finding, int array, int source, int64_t element, int thread, const Mark* other,
                       int64_t member) {
  const auto [known, is_new] = known_.emplace(std::tuple(finding, array, source), report_.findings.size());
  if (!is_new) {
    ++report_.findings[known->second].count;
    return;
  }
  std::string name = array >= 0 ? kernel_.arrays[array].name : "";
  if (array >= 0 && kernel_.arrays[array].members > 0 && member >= 0) name += Str("[", member, "]");
  report_.findings.push_back({
      .finding = finding,
      .array = std::move(name),
      .source = source >= 0 ? kernel_.sources[source] : "",
      .element = element,
      .block = now().number,
      .thread = thread,
      .other_block = other ? other->block : 0,
      .other_thread =
          other && !other->several_lanes && !other->several_warps && !other->several_blocks ? other->thread : -1,
  });
}

void Sanitizer::Diverged(Finding finding, int thread) { Report(finding, -1, -1, 0, thread); }

void* Sanitizer::Sink() {
  std::memset(sink_, 0, sizeof sink_);
  return sink_;
}

void* Sanitizer::Access(const AccessSite& site, int thread, void* address, const void* member, int rank) {
  const char* const byte = static_cast<const char*>(address);
  if (site.pointer) {
    const int64_t which = (byte - static_cast<const char*>(member)) / static_cast<int64_t>(sizeof(void*));
    if (which >= 0 && which < kernel_.arrays[site.array].members) return address;
    Report(Finding::kOutOfBounds, site.array, site.source, 0, thread, nullptr, which);
    return Sink();
  }
  const Found at = Find(site, byte, member);
  if (at.array < 0) {
    Report(Finding::kOutOfBounds, site.array, site.source, 0, thread, nullptr, -1);
    return Sink();
  }
  const ArrayPlace& place = places_[at.array][at.member];
  const int element_bytes = Bytes(kernel_.arrays[at.array].type);
  const bool is_block = rank == kOwnBlock || (rank >= 0 && rank < kernel_.cluster);
  const int64_t offset = byte - place.base;
  const int64_t first = offset / element_bytes;
  if (offset < 0 || offset + site.bytes > place.elements * element_bytes || !is_block) {
    Report(Finding::kOutOfBounds, at.array, site.source, first, thread, nullptr, at.member);
    return Sink();
  }
  if (offset % site.alignment != 0)
    Report(Finding::kMisaligned, at.array, site.source, first, thread, nullptr, at.member);
  if (!cells_[at.array].watched()) return address;
  const int owner = rank == kOwnBlock ? rank_ : rank;
  if (owner != rank_) CheckFarRead(site, thread, at.array, owner);
  CheckElements(site, thread, at, first, owner);
  return address;
}

void Sanitizer::CheckFarRead(const AccessSite& site, int thread, int array, int rank) {
  blocks_[rank].read_afar = cluster_epoch_;
  if (blocks_[rank].ended) Report(Finding::kEarlyExit, array, site.source, 0, thread);
}

// `rank`: the block that owns a shared array.
void Sanitizer::CheckElements(const AccessSite& site, int thread, const Found& at, int64_t first, int rank) {
  const ArrayInfo& array = kernel_.arrays[at.array];
  const bool shared = array.kind == ArrayKind::kShared;
  const Finding race_here = shared ? Finding::kSharedRace : Finding::kGlobalRace;
  const auto race = [&](const Mark& other, int64_t element) {
    const bool here = other.block == now().number && !other.several_blocks;
    Report(here ? race_here : Finding::kCrossBlockRace, at.array, site.source, element, thread, &other, at.member);
  };
  const int64_t begin = begins_[at.array][at.member] + (shared ? rank * array.elements : 0);
  for (int64_t element = first; element < first + site.bytes / Bytes(array.type); ++element) {
    Cell& cell = cells_[at.array][begin + element];
    const bool ordered_by_atomics = site.atomic && cell.write.atomic;
    if (!ordered_by_atomics && Conflicts(cell.write, shared, thread)) race(cell.write, element);
    if (site.writes) {
      if (Conflicts(cell.read, shared, thread)) race(cell.read, element);
      cell.write = Now(thread, site.atomic);
    } else {
      if (shared && cell.write.block != blocks_[rank].number)
        Report(Finding::kUninitialisedShared, at.array, site.source, element, thread);
      NoteRead(cell.read, shared, thread);
    }
  }
  if (site.atomic && now().fenced && !shared) {
    released_before_[now().number] = now().epoch;
    now().acquired_at = now().epoch;
  }
}

}  // namespace hlo::kernel
