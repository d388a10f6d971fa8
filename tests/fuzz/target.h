// A target of libFuzzer is one file of this folder:
//
//   #include "tests/fuzz/target.h"
//   HLO_FUZZ_TARGET(BrokenByTokens)
//
// BrokenByTokens is a function std::string f(std::string_view input). It returns the property that does not hold, or
// "". `make fuzz` builds the target with sanitizers and runs it on the texts of testdata/ and the corpus. Its
// dictionary has the words of the tables.
#ifndef HLO_TESTS_FUZZ_TARGET_H_
#define HLO_TESTS_FUZZ_TARGET_H_

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tests/properties/properties.h"
#include "tests/properties/words.h"

namespace hlo {

// Replaces base/check.cpp's function, which ends the process in a way that libFuzzer takes for an orderly end.
void internal::CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, condition, message.c_str());
  std::abort();
}

// `TARGET --dictionary` prints libFuzzer's dictionary and ends.
inline void AnswerDictionary(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--dictionary") return;
  for (const std::string& word : WordsOfTables()) std::printf("\"%s\"\n", word.c_str());
  std::exit(0);
}

}  // namespace hlo

#define HLO_FUZZ_TARGET(broken_by)                                        \
  extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {          \
    hlo::AnswerDictionary(*argc, *argv);                                  \
    return 0;                                                             \
  }                                                                       \
  extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) { \
    const std::string broken = broken_by(std::string_view(bytes, size));  \
    CHECK(broken.empty(), broken);                                        \
    return 0;                                                             \
  }

#endif  // HLO_TESTS_FUZZ_TARGET_H_
