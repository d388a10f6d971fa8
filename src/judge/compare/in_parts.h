// Complex arrays as floats [.., 2]. Other values are unchanged.
#ifndef HLO_JUDGE_COMPARE_IN_PARTS_H_
#define HLO_JUDGE_COMPARE_IN_PARTS_H_

#include "judge/bounds/shadow.h"

namespace hlo {

Shape InParts(const Shape& shape);
Literal InParts(const Literal& literal);
ShadowValue InParts(const ShadowValue& value);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_IN_PARTS_H_
