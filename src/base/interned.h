// Text that is kept once for the whole process, however often it is said: names of source files and of the framework's
// operations, which nearly every instruction repeats. Copies are free and equality compares addresses.
#ifndef HLO_BASE_INTERNED_H_
#define HLO_BASE_INTERNED_H_

#include <string>
#include <string_view>

namespace hlo {

class Interned {
 public:
  Interned() = default;  // The empty text.
  Interned(std::string_view text);
  Interned(const std::string& text) : Interned(std::string_view(text)) {}
  Interned(const char* text) : Interned(std::string_view(text)) {}

  operator std::string_view() const { return text_; }
  std::string_view view() const { return text_; }
  bool empty() const { return text_.empty(); }
  bool operator==(const Interned& other) const { return text_.data() == other.text_.data(); }

 private:
  std::string_view text_;  // Into the table, which is never freed; null when empty.
};

// A fast hash of bytes, the same in every run.
uint64_t HashBytes(std::string_view bytes);

}  // namespace hlo

#endif  // HLO_BASE_INTERNED_H_
