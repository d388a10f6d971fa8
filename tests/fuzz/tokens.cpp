// The lexer, and the parting of files into modules.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByTokens)
