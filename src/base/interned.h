// Text stored once in the process, such as the source file that nearly every instruction names. Copies are free, and
// equality compares addresses.
#ifndef HLO_BASE_INTERNED_H_
#define HLO_BASE_INTERNED_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hlo {

class Interned {
 public:
  Interned() = default;
  Interned(std::string_view text);
  Interned(const std::string& text) : Interned(std::string_view(text)) {}
  Interned(const char* text) : Interned(std::string_view(text)) {}

  operator std::string_view() const { return view(); }
  std::string_view view() const {
    if (entry_ == nullptr) return {};
    return {reinterpret_cast<const char*>(entry_ + 1), entry_->bytes};
  }
  bool empty() const { return entry_ == nullptr; }
  bool operator==(const Interned& other) const = default;

  struct Entry {
    uint32_t bytes;  // The text follows the entry.
  };

 private:
  const Entry* entry_ = nullptr;  // Never freed. Null for the empty text.
};

}  // namespace hlo

#endif  // HLO_BASE_INTERNED_H_
