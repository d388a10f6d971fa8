// Maps elements to integers in the same order.
#ifndef HLO_INTERP_OPS_ORDER_KEYS_H_
#define HLO_INTERP_OPS_ORDER_KEYS_H_

#include <cstdint>

#include "ir/primitive_type.h"

namespace hlo {

// Floats are in total order (-NaN < -inf < -0 < +0 < +NaN). Complex numbers are not supported.
void TotalOrderKeys(PrimitiveType type, const void* elements, int64_t* keys, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_ORDER_KEYS_H_
