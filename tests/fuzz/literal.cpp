// Shapes and literals.
#include "tests/fuzz/target.h"

HLO_FUZZ_TARGET(hlo::BrokenByLiteral)
