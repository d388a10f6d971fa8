// The words of the language, as its tables have them.
#ifndef HLO_TESTS_PROPERTIES_WORDS_H_
#define HLO_TESTS_PROPERTIES_WORDS_H_

#include <set>
#include <string>

namespace hlo {

// Opcodes with '(', attributes with '=', element types with '[', the words that attributes take, and the fields and
// enums of protocol buffers.
std::set<std::string> WordsOfTables();

}  // namespace hlo

#endif  // HLO_TESTS_PROPERTIES_WORDS_H_
