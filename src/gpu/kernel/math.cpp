#include "gpu/kernel/math.h"

#include "base/check.h"

namespace hlo::kernel {
Value FloatRemainder(Value x, Value y) { CHECK(false, "fmod"); return x; }
}  // namespace hlo::kernel
