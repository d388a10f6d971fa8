// Number of terms in one element of a sum.
#ifndef HLO_INTERP_SHADOW_TERMS_H_
#define HLO_INTERP_SHADOW_TERMS_H_

namespace hlo {
class Instruction;
}

namespace hlo::shadow {

// dot, convolution: the number of products. reduce, reduce-window, select-and-scatter: the number of elements,
// including padding. Others: 1.
double TermsOf(const Instruction& inst);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_TERMS_H_
