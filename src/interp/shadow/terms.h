// Number of terms in one element of a sum.
#ifndef HLO_INTERP_SHADOW_TERMS_H_
#define HLO_INTERP_SHADOW_TERMS_H_

namespace hlo {
class Instruction;
}

namespace hlo::shadow {

// For a dot or convolution: the number of products. For a reduce, reduce-window or select-and-scatter: the number of
// elements, including padding. For other instructions: 1.
double TermsOf(const Instruction& inst);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_TERMS_H_
