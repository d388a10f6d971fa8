// What holds of the layouts of a whole module.
#ifndef HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
#define HLO_IR_VERIFIER_MODULE_LAYOUTS_H_

#include "base/result.h"

namespace hlo {

class Module;
struct Verified;

// V290, V291 at the first instruction that breaks one: who hands a value on, or works on it element by element, keeps
// its layout. A text need not hold to that before layout assignment.
Status CheckLayoutsFit(const Module& module);

// Between passes, from layout assignment on: values are computed in row-major order. Other layouts are those of the
// entry's parameters and results, which the caller laid out; what leads from one to the other is a copy, or a fusion
// around one, or a constant that was one, and what only names values has theirs. [I012] at the first instruction that
// breaks it. Right behind VerifyAgain: what has not changed since this was asked is not looked at again.
Status CheckNormalLayouts(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_MODULE_LAYOUTS_H_
