// Fuzzes the lexer and the division of files into modules.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByTokens)
