// Checks of layouts over a whole module.
#ifndef HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
#define HLO_IR_VERIFIER_MODULE_LAYOUTS_H_

#include "base/result.h"

namespace hlo {

class Module;
struct Verified;

// V290, V291: ops that pass values on, or are elementwise, keep layouts. This need not hold before layout assignment.
Status CheckLayoutsFit(const Module& module);

// Checks between passes after layout assignment that values are computed in row-major order. Parameters, copies,
// fusions, constants (folded copies) and renaming instructions may have any layout. Error: I012 at the first violation.
// Must be called directly after VerifyAgain. Unchanged computations are skipped.
Status CheckNormalLayouts(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
