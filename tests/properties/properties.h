// Properties that hold for any input: nothing crashes, an error has a code, a message and a place, and the printed text
// of an accepted module reads back as the same module (docs/language.md#printing). Each function returns a description
// of a property that does not hold, or "". The tests that mutate texts and the targets of libFuzzer (tests/fuzz) use
// these functions.
#ifndef HLO_TESTS_PROPERTIES_PROPERTIES_H_
#define HLO_TESTS_PROPERTIES_PROPERTIES_H_

#include <string>
#include <string_view>

namespace hlo {

// Tokens are in order within the text, and each is the same if read alone. The pieces of a file with several modules
// are in order too.
std::string BrokenByTokens(std::string_view text);

// `bytes` are HLO text or a protocol buffer, binary or text. Strict verification accepts only modules that the default
// level accepts. `accepted` receives whether the module is valid, unless it is null.
std::string BrokenByModule(std::string_view bytes, bool* accepted = nullptr);

// `text` has a shape, a line end, and a literal of that shape. A literal that can be read prints as a text that reads
// back with equal bits.
std::string BrokenByLiteral(std::string_view text);

}  // namespace hlo

#endif  // HLO_TESTS_PROPERTIES_PROPERTIES_H_
