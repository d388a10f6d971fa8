// The parser, verifier and printer, on HLO text.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByModule)
