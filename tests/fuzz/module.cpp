// Fuzzes the parser, verifier and printer with HLO text.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByModule)
