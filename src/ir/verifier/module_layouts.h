// Checks of layouts over a whole module.
#ifndef HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
#define HLO_IR_VERIFIER_MODULE_LAYOUTS_H_

#include "base/result.h"

namespace hlo {

class Module;
struct Verified;

// Checks V290 and V291: instructions that pass a value on, or are elementwise, keep its layout. Returns the first
// error. A module before layout assignment need not satisfy them.
Status CheckLayoutsFit(const Module& module);

// Checks between passes after layout assignment that all values are computed in row-major order. Only entry parameters
// and results have other layouts, which the caller chose. Copies, fusions of copies, folded copies and renaming
// instructions convert between the two, and may have other layouts. Error: I012 at the first violation. Call it
// directly after VerifyAgain; unchanged computations are skipped.
Status CheckNormalLayouts(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
