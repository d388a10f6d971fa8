// What holds between passes from layout assignment on: values are computed in row-major order. Other layouts are those
// of the entry's parameters and results, which the caller laid out; what leads from one to the other is a copy, or a
// fusion around one, or a constant that was one, and what only names values has theirs.
#ifndef HLO_IR_VERIFIER_NORMAL_LAYOUTS_H_
#define HLO_IR_VERIFIER_NORMAL_LAYOUTS_H_

#include "base/result.h"

namespace hlo {

class Module;

// [I012] at the first instruction that breaks it.
Status CheckNormalLayouts(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_NORMAL_LAYOUTS_H_
