#ifndef HLO_JUDGE_BOUNDS_TERMS_H_
#define HLO_JUDGE_BOUNDS_TERMS_H_

namespace hlo {
class Instruction;
}

namespace hlo::shadow {

// Number of terms in one element. dot, convolution: products. reduce, reduce-window, select-and-scatter: elements,
// including padding. Others: 1.
double TermsOf(const Instruction& inst);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_TERMS_H_
