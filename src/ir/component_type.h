// The type of a complex type's parts. Other types are unchanged.
#ifndef HLO_IR_COMPONENT_TYPE_H_
#define HLO_IR_COMPONENT_TYPE_H_

#include "ir/primitive_type.h"

namespace hlo {

constexpr PrimitiveType ComponentType(PrimitiveType type) {
  if (type == PrimitiveType::kC64) return PrimitiveType::kF32;
  return type == PrimitiveType::kC128 ? PrimitiveType::kF64 : type;
}

}  // namespace hlo

#endif  // HLO_IR_COMPONENT_TYPE_H_
