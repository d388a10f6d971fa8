// The words of the language according to its tables.
#ifndef HLO_TESTS_PROPERTIES_WORDS_H_
#define HLO_TESTS_PROPERTIES_WORDS_H_

#include <set>
#include <string>

namespace hlo {

// Opcodes with '(', attributes with '=', element types with '[', the words that are values of attributes, and the
// fields and enums of protocol buffers.
std::set<std::string> WordsOfTables();

}  // namespace hlo

#endif  // HLO_TESTS_PROPERTIES_WORDS_H_
