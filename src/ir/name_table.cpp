#include "ir/name_table.h"

#include <algorithm>
#include <bit>

#include "base/hash_bytes.h"
#include "base/text.h"

namespace hlo {
namespace {

// `add` and `add.0` are both number 0 of `add`.
std::pair<std::string_view, int64_t> SplitName(std::string_view name) {
  const size_t dot = name.rfind('.');
  int64_t number = 0;
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size() || !ParseInt(name.substr(dot + 1), &number))
    return {name, 0};
  return {name.substr(0, dot), number};
}

// One spelling for all names of a stem and number: `add` for `add.0`. `add.5.0` stays, because it is number 0 of
// `add.5`. "" for rare names that need more work, such as `add.07`, which equals `add.7`.
std::string_view PlainText(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return name;
  if (name[dot + 1] != '0' && name[dot + 1] != '-') return name;
  if (name.substr(dot) != ".0") return {};
  const std::string_view stem = name.substr(0, dot);
  return SplitName(stem).first.size() == stem.size() ? stem : name;
}

std::string NumberedName(std::string_view stem, int64_t number, bool has_number) {
  return number == 0 && !has_number ? std::string(stem) : Str(stem, ".", number);
}

}  // namespace

// ---- NameSet -------------------------------------------------------------------------------------------------------

NameSet::Prepared NameSet::Prepare(std::string_view name) const {
  const auto hash = static_cast<uint32_t>(HashBytes(name));
  if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
  return {name, hash};
}

size_t NameSet::PlaceOf(const Prepared& prepared) const {
  const auto& [name, hash] = prepared;
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].position != 0 && (slots_[at].hash != hash || !SameBytes(names_[slots_[at].position - 1], name))) {
    at = (at + 1) & mask;
  }
  return at;
}

bool NameSet::Insert(const Prepared& prepared) {
  if (2 * names_.size() >= slots_.size()) Resize(std::max<size_t>(64, 2 * slots_.size()));
  Slot& slot = slots_[PlaceOf(prepared)];
  if (slot.position != 0) return false;
  names_.push_back(prepared.name);
  slot = {prepared.hash, static_cast<uint32_t>(names_.size())};
  return true;
}

bool NameSet::Contains(const Prepared& prepared) const {
  return !slots_.empty() && slots_[PlaceOf(prepared)].position != 0;
}

void NameSet::Reserve(size_t names) {
  names_.reserve(names);
  if (2 * names > slots_.size()) Resize(std::bit_ceil(2 * names));
}

void NameSet::Resize(size_t slots) {
  const std::vector<Slot> old = std::move(slots_);
  const size_t mask = slots - 1;
  slots_ = std::vector<Slot>(slots);
  for (const Slot& slot : old) {
    if (slot.position == 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].position != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

// ---- NameTable -----------------------------------------------------------------------------------------------------

uint32_t NameTable::StemOf(std::string_view text) {
  if (2 * stems_.size() >= stem_slots_.size()) {
    stem_slots_.assign(std::max<size_t>(64, 4 * stems_.size()), 0);
    for (size_t i = 0; i < stems_.size(); ++i) {
      size_t at = stems_[i].hash & (stem_slots_.size() - 1);
      while (stem_slots_[at] != 0) at = (at + 1) & (stem_slots_.size() - 1);
      stem_slots_[at] = static_cast<uint32_t>(i + 1);
    }
  }
  const uint64_t hash = HashBytes(text);
  size_t at = hash & (stem_slots_.size() - 1);
  for (; stem_slots_[at] != 0; at = (at + 1) & (stem_slots_.size() - 1)) {
    const Stem& stem = stems_[stem_slots_[at] - 1];
    if (stem.hash == hash && stem.text == text) return stem_slots_[at] - 1;
  }
  stems_.push_back({std::string(text), hash});
  stem_slots_[at] = static_cast<uint32_t>(stems_.size());
  return stem_slots_[at] - 1;
}

NameTable::Taken& NameTable::Find(uint32_t stem, int64_t number) {
  const size_t mask = taken_.size() - 1;
  size_t at = (static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15 ^ stem * uint64_t{0xC2B2AE3D27D4EB4F}) >> 20 & mask;
  while (taken_[at].state != Taken::kFree && (taken_[at].stem != stem || taken_[at].number != number)) {
    at = (at + 1) & mask;
  }
  return taken_[at];
}

bool NameTable::Take(uint32_t stem, int64_t number) {
  if (2 * used_ >= taken_.size()) {
    const std::vector<Taken> old = std::move(taken_);
    taken_ = std::vector<Taken>(std::max<size_t>(256, 2 * old.size()));
    used_ = 0;
    for (const Taken& entry : old) {
      if (entry.state != Taken::kTaken) continue;
      Find(entry.stem, entry.number) = entry;
      ++used_;
    }
  }
  Taken& entry = Find(stem, number);
  if (entry.state == Taken::kTaken) return false;
  used_ += entry.state == Taken::kFree;
  entry = {number, stem, Taken::kTaken};
  ++stems_[stem].taken;
  return true;
}

std::string NameTable::NextOf(uint32_t stem, bool has_number) {
  int64_t number = 0;
  do number = stems_[stem].next++;
  while (!Take(stem, number));
  return NumberedName(stems_[stem].text, number, has_number);
}

void NameTable::SplitNames() {
  if (split_) return;
  split_ = true;
  for (const std::string_view name : claimed_.names()) {
    const auto [text, number] = SplitName(name);
    Take(StemOf(text), number);
  }
  for (const auto& [text, next] : next_) stems_[StemOf(text)].next = next;
  claimed_ = NameSet();
  next_.clear();
}

std::string NameTable::Unique(std::string_view wanted) {
  SplitNames();
  const auto [text, number] = SplitName(wanted);
  const uint32_t stem = StemOf(text);
  const bool has_number = text.size() < wanted.size();
  if (Take(stem, number)) return has_number ? Str(text, ".", number) : std::string(wanted);
  return NextOf(stem, has_number);
}

std::string_view NameTable::Unique(std::string_view wanted, Arena& memory) {
  const std::string_view plain = PlainText(wanted);
  if (split_ || plain.empty()) return memory.Copy(Unique(wanted));
  if (claimed_.Insert(claimed_.Prepare(plain))) return wanted;
  const auto [stem, number] = SplitName(wanted);
  const bool has_number = stem.size() < wanted.size();
  for (int64_t& next = next_[std::string(stem)];;) {
    const int64_t tried = next++;
    const std::string name = NumberedName(stem, tried, has_number);
    if (claimed_.Contains(claimed_.Prepare(PlainText(name)))) continue;
    const std::string_view kept = memory.Copy(name);
    claimed_.Insert(claimed_.Prepare(PlainText(kept)));
    return kept;
  }
}

NameTable::PreparedName NameTable::Prepare(std::string_view name) const {
  PreparedName prepared = {name, {}};
  if (split_) return prepared;
  if (const std::string_view plain = PlainText(name); !plain.empty()) prepared.plain = claimed_.Prepare(plain);
  return prepared;
}

bool NameTable::Claim(const PreparedName& prepared) {
  if (!split_) {
    if (!prepared.plain.name.empty()) return claimed_.Insert(prepared.plain);
    SplitNames();
  }
  const auto [text, number] = SplitName(prepared.name);
  return Take(StemOf(text), number);
}

bool NameTable::Claim(std::string_view name) { return Claim(Prepare(name)); }

void NameTable::Release(std::string_view name) {
  SplitNames();
  if (taken_.empty()) return;
  const auto [text, number] = SplitName(name);
  const uint32_t stem = StemOf(text);
  Taken& entry = Find(stem, number);
  if (entry.state != Taken::kTaken) return;
  entry.state = Taken::kReleased;
  if (--stems_[stem].taken == 0) stems_[stem].next = 0;
}

}  // namespace hlo
