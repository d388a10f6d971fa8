// How many terms one element of a result is made of.
#ifndef HLO_INTERP_SHADOW_TERMS_H_
#define HLO_INTERP_SHADOW_TERMS_H_

namespace hlo {
class Instruction;
}

namespace hlo::shadow {

// Of a dot or convolution the products, of a reduce, reduce-window or select-and-scatter the elements, padding
// included; 1 of anything else.
double TermsOf(const Instruction& inst);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_TERMS_H_
