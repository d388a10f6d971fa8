// Fuzzes the parsers of shapes and literals.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByLiteral)
