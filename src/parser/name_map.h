// What names stand for: a hash table whose texts belong to the source.
#ifndef HLO_PARSER_NAME_MAP_H_
#define HLO_PARSER_NAME_MAP_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash_bytes.h"

namespace hlo {

template <class T>
class NameMap {
 public:
  // Null when it is not there; valid until the next Insert.
  T* Find(std::string_view name) {
    if (slots_.empty()) return nullptr;
    const Slot& slot = Probe(name, HashOf(name));
    return IsUsed(slot) ? &entries_[slot.position - base_].second : nullptr;
  }

  // To be inserted soon: the memory that this takes is fetched meanwhile.
  class Place {
    friend class NameMap;
    uint32_t hash = 0;
  };
  Place Prepare(std::string_view name) {
    if (2 * entries_.size() >= slots_.size()) Double();
    Place place;
    place.hash = HashOf(name);
    __builtin_prefetch(&slots_[place.hash & (slots_.size() - 1)], 1);
    return place;
  }
  // False when it was there.
  bool Insert(std::string_view name, T value) { return Insert(name, Prepare(name), value); }
  bool Insert(std::string_view name, Place place, T value) {
    if (2 * entries_.size() >= slots_.size()) Double();  // Others came in between.
    const uint32_t hash = place.hash;
    Slot& slot = Probe(name, hash);
    if (IsUsed(slot)) return false;
    slot = {hash, static_cast<uint32_t>(base_ + entries_.size())};
    entries_.emplace_back(name, value);
    return true;
  }

  // Keeps its memory. Slots that were used hold positions before the new base.
  void Clear() {
    base_ += entries_.size();
    entries_.clear();
  }

  const std::vector<std::pair<std::string_view, T>>& entries() const { return entries_; }

 private:
  // Small, since it is missed in the cache more often than the entries, of which most are asked for soon.
  struct Slot {
    uint32_t hash = 0;
    uint32_t position = 0;  // Of the entry, counted from the beginning of the text: base_ and up are those of today.
  };

  static uint32_t HashOf(std::string_view name) { return static_cast<uint32_t>(HashBytes(name)); }
  bool IsUsed(const Slot& slot) const { return slot.position >= base_; }

  Slot& Probe(std::string_view name, uint32_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (IsUsed(slots_[at]) &&
           (slots_[at].hash != hash || !SameBytes(entries_[slots_[at].position - base_].first, name))) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }

  void Double() {
    const std::vector<Slot> old = std::move(slots_);
    const size_t mask = std::max<size_t>(64, 2 * old.size()) - 1;
    slots_ = std::vector<Slot>(mask + 1);
    for (const Slot& slot : old) {
      if (!IsUsed(slot)) continue;
      size_t at = slot.hash & mask;
      while (IsUsed(slots_[at])) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<std::pair<std::string_view, T>> entries_;
  std::vector<Slot> slots_;
  uint32_t base_ = 1;
};

}  // namespace hlo

#endif  // HLO_PARSER_NAME_MAP_H_
