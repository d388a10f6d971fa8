// A hash table from names in the source text to values.
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
  // Null if absent. Valid until the next Insert.
  T* Find(std::string_view name) {
    if (slots_.empty()) return nullptr;
    const Slot& slot = Probe(name, HashOf(name));
    return IsUsed(slot) ? &entries_[slot.position - base_].second : nullptr;
  }

  // A hashed name. Prepare starts to load its slot from memory.
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
  // Returns false if the name was present.
  bool Insert(std::string_view name, T value) { return Insert(name, Prepare(name), value); }
  bool Insert(std::string_view name, Place place, T value) {
    if (2 * entries_.size() >= slots_.size()) Double();
    const uint32_t hash = place.hash;
    Slot& slot = Probe(name, hash);
    if (IsUsed(slot)) return false;
    slot = {hash, static_cast<uint32_t>(base_ + entries_.size())};
    entries_.emplace_back(name, value);
    return true;
  }

  // Keeps the memory. Slots become unused, because their positions are below the new base.
  void Clear() {
    base_ += entries_.size();
    entries_.clear();
  }

  const std::vector<std::pair<std::string_view, T>>& entries() const { return entries_; }

 private:
  // Small, because slots often miss the cache.
  struct Slot {
    uint32_t hash = 0;
    uint32_t position = 0;  // Below base_ if the slot is unused.
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
