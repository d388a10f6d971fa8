// The names of a module that are taken, and new ones.
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

// Distinct texts, which must outlive it.
class NameSet {
 public:
  // A name with its hash, whose place in memory is fetched from now on.
  struct Prepared {
    std::string_view name;
    uint32_t hash = 0;
  };
  Prepared Prepare(std::string_view name) const;
  bool Insert(const Prepared& name);  // False when it was there.
  bool Contains(const Prepared& name) const;
  void Reserve(size_t names);  // That many are to be expected.
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t position = 0;  // In names_, plus one.
  };
  void Resize(size_t slots);
  size_t PlaceOf(const Prepared& name) const;  // Of its slot, or of the free one where it belongs.

  std::vector<std::string_view> names_;
  std::vector<Slot> slots_;
};

// Names given so far, and numbers for new ones. `add.5` is number 5 of the stem `add`; so is `add` its number 0.
//
// Most modules are read and never changed, and few of their names need other numbers: as long as names are only
// claimed, they are kept as they stand. The first question that needs more sorts them into stems and numbers.
class NameTable {
 public:
  // `wish` when it is free, else the stem's next number.
  std::string Unique(std::string_view wish);
  // The same; what is not `wish` lies in `memory`, which must outlive the table.
  std::string_view Unique(std::string_view wish, Arena& memory);
  // False when it is taken. The text must last as long as the table, or until Settle.
  bool Claim(std::string_view name);
  // `count` names, name(i); taken(i) for those that are. Names that lie far apart in memory are looked up together.
  template <class NameOf, class IsTaken>
  void Claim(size_t count, NameOf&& name, IsTaken&& taken);
  void Release(std::string_view name);
  void Reserve(size_t names) { claimed_.Reserve(names); }
  // From here on, no text of others is needed.
  void Settle();

 private:
  struct Stem {
    std::string text;
    uint64_t hash;
    int64_t next = 0;
    int64_t taken = 0;  // How many names.
  };
  struct Taken {
    int64_t number;
    uint32_t stem;
    enum : uint32_t { kFree, kReleased, kTaken } state = kFree;
  };

  // A name that is to be claimed: prepared as long as nothing is settled.
  struct Wish {
    std::string_view name;
    NameSet::Prepared plain;  // Without text for the rare ones that take work.
  };
  Wish Prepare(std::string_view name) const;
  bool Claim(const Wish& wish);

  uint32_t StemOf(std::string_view text);
  Taken& Find(uint32_t stem, int64_t number);
  bool Take(uint32_t stem, int64_t number);  // False when it is taken.
  std::string NextOf(uint32_t stem, bool has_number);

  bool settled_ = false;
  NameSet claimed_;  // Until then, as are the next numbers of stems that have been asked for one.
  std::unordered_map<std::string, int64_t> next_;

  std::vector<Stem> stems_;
  std::vector<uint32_t> stem_slots_;  // A hash table of positions in stems_, plus one.
  std::vector<Taken> taken_;          // A hash table.
  size_t used_ = 0;                   // Of taken_: not free.
};

template <class NameOf, class IsTaken>
void NameTable::Claim(size_t count, NameOf&& name, IsTaken&& taken) {
  constexpr size_t kAhead = 8;
  Wish wishes[kAhead];
  for (size_t i = 0; i < count + kAhead; ++i) {
    Wish& wish = wishes[i % kAhead];
    if (i >= kAhead && !Claim(wish)) taken(i - kAhead);
    if (i < count) wish = Prepare(name(i));
  }
}

}  // namespace hlo

#endif  // HLO_IR_NAME_TABLE_H_
