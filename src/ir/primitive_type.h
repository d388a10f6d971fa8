// Element types (primitive_type.def).
#ifndef HLO_IR_PRIMITIVE_TYPE_H_
#define HLO_IR_PRIMITIVE_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hlo {

enum class PrimitiveType : uint8_t {
#define HLO_TYPE(Name, ...) k##Name,
#include "ir/primitive_type.def"
};

enum class TypeClass : uint8_t { kPred, kSigned, kUnsigned, kFloat, kComplex, kToken, kOpaque, kTuple };

std::string_view ToString(PrimitiveType type);  // "f32"
std::optional<PrimitiveType> PrimitiveTypeFromText(std::string_view text);
constexpr TypeClass ClassOf(PrimitiveType type) {
  constexpr TypeClass kClasses[] = {
#define HLO_TYPE(Name, text, type_class, bits, bytes) TypeClass::type_class,
#include "ir/primitive_type.def"
  };
  return kClasses[static_cast<int>(type)];
}
int BitWidth(PrimitiveType type);
int64_t ByteWidth(PrimitiveType type);  // Sub-byte types use one byte.

inline bool IsFloat(PrimitiveType type) { return ClassOf(type) == TypeClass::kFloat; }
inline bool IsSigned(PrimitiveType type) { return ClassOf(type) == TypeClass::kSigned; }
inline bool IsUnsigned(PrimitiveType type) { return ClassOf(type) == TypeClass::kUnsigned; }
inline bool IsInteger(PrimitiveType type) { return IsSigned(type) || IsUnsigned(type); }
inline bool IsComplex(PrimitiveType type) { return ClassOf(type) == TypeClass::kComplex; }
inline bool IsArrayType(PrimitiveType type) { return ClassOf(type) < TypeClass::kToken; }

}  // namespace hlo

#endif  // HLO_IR_PRIMITIVE_TYPE_H_
