// What holds whatever the input: nothing crashes, an error has a code, words and a place, and what is accepted prints
// as a text that reads back as itself (docs/language.md#printing). Each function answers what does not
// hold, in words; nothing when all does. Shared by the tests that mutate texts and the targets of libFuzzer
// (tests/fuzz).
#ifndef HLO_TESTS_PROPERTIES_PROPERTIES_H_
#define HLO_TESTS_PROPERTIES_PROPERTIES_H_

#include <string>
#include <string_view>

namespace hlo {

// Tokens lie in the text, in order, each as it would be read alone; so do the pieces of a file of several modules.
std::string BrokenByTokens(std::string_view text);

// HLO text, or a protocol buffer, binary or text. Strict verification takes nothing that the default refuses.
// `accepted`, where wanted: whether it is a valid module.
std::string BrokenByModule(std::string_view bytes, bool* accepted = nullptr);

// A shape, a line end, and a literal of that shape: what reads prints as what reads back with the same bits.
std::string BrokenByLiteral(std::string_view text);

}  // namespace hlo

#endif  // HLO_TESTS_PROPERTIES_PROPERTIES_H_
