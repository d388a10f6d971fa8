// Unique names in a module.
#ifndef HLO_IR_NAME_TABLE_H_
#define HLO_IR_NAME_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/arena.h"

namespace hlo {

// A set of names. Texts are not copied and must outlive it.
class NameSet {
 public:
  // Prepare also starts to load the name's slot from memory.
  struct Prepared {
    std::string_view name;
    uint32_t hash = 0;
  };
  Prepared Prepare(std::string_view name) const;
  bool Insert(const Prepared& name);
  bool Contains(const Prepared& name) const;
  void Reserve(size_t names);
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t position = 0;  // Index in names_ plus 1, or 0 if free.
  };
  void Resize(size_t slots);
  size_t PlaceOf(const Prepared& name) const;

  std::vector<std::string_view> names_;
  std::vector<Slot> slots_;
};

// Names in use, and numbers for new names: `add.5` has number 5 of the stem `add`, and `add` has number 0.
//
// Claimed names are split into stems and numbers (SplitNames) only when an operation needs this.
class NameTable {
 public:
  std::string Unique(std::string_view wanted);
  // The result is `wanted` or a name in `memory`, which must outlive the table.
  std::string_view Unique(std::string_view wanted, Arena& memory);
  // Returns false if the name is taken. The text must live as long as the table or until SplitNames.
  bool Claim(std::string_view name);
  // Claims name(i) for each i < `count`, or calls taken(i). Looks up several names at once, because their texts are far
  // apart in memory.
  template <class NameOf, class IsTaken>
  void Claim(size_t count, NameOf&& name, IsTaken&& taken);
  void Release(std::string_view name);
  void Reserve(size_t names) { claimed_.Reserve(names); }
  void SplitNames();

 private:
  struct Stem {
    std::string text;
    uint64_t hash;
    int64_t next = 0;
    int64_t taken = 0;
  };
  struct Taken {
    int64_t number;
    uint32_t stem;
    enum : uint32_t { kFree, kReleased, kTaken } state = kFree;
  };

  // `plain` is used until SplitNames.
  struct PreparedName {
    std::string_view name;
    NameSet::Prepared plain;
  };
  PreparedName Prepare(std::string_view name) const;
  bool Claim(const PreparedName& prepared);

  uint32_t StemOf(std::string_view text);
  Taken& Find(uint32_t stem, int64_t number);
  bool Take(uint32_t stem, int64_t number);
  std::string NextOf(uint32_t stem, bool has_number);

  bool split_ = false;
  NameSet claimed_;  // Used until SplitNames, with next_, the next number of each stem.
  std::unordered_map<std::string, int64_t> next_;

  std::vector<Stem> stems_;
  std::vector<uint32_t> stem_slots_;
  std::vector<Taken> taken_;
  size_t used_ = 0;
};

template <class NameOf, class IsTaken>
void NameTable::Claim(size_t count, NameOf&& name, IsTaken&& taken) {
  constexpr size_t kAhead = 8;
  PreparedName names[kAhead];
  for (size_t i = 0; i < count + kAhead; ++i) {
    PreparedName& prepared = names[i % kAhead];
    if (i >= kAhead && !Claim(prepared)) taken(i - kAhead);
    if (i < count) prepared = Prepare(name(i));
  }
}

}  // namespace hlo

#endif  // HLO_IR_NAME_TABLE_H_
