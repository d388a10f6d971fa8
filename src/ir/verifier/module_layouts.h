// Checks of layouts over a whole module.
#ifndef HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
#define HLO_IR_VERIFIER_MODULE_LAYOUTS_H_

#include "base/result.h"

namespace hlo {

class Module;
struct Verified;

// V290, V291: ops that pass values on, or are elementwise, keep layouts. This need not hold before layout assignment.
Status CheckLayoutsFit(const Module& module);

// Checks between passes after layout assignment that values are computed in row-major order. Entry parameters and
// results have layouts that the caller chose. Copies, fusions of copies, folded copies and renaming instructions may
// have any layout. Error: I012 at the first violation. Call it directly after VerifyAgain; unchanged computations are
// skipped.
Status CheckNormalLayouts(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
