// Arrays in NumPy's .npy format, versions 1-3 (NEP 1). Types: docs/arguments.md#files.
#ifndef HLO_INTERP_ARGUMENTS_NPY_H_
#define HLO_INTERP_ARGUMENTS_NPY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "ir/literal.h"

namespace hlo {

// An array, row-major and in the machine's byte order. An element has `width` bytes.
struct NpyArray {
  char kind = 'f';  // b i u f c V, as in NumPy.
  int64_t width = 4;
  std::vector<int64_t> dims;
  std::string bytes;

  std::string ToString() const;
};

bool IsNpy(std::string_view bytes);
// The element type that the file names. nullopt for raw bytes.
std::optional<PrimitiveType> OwnTypeOf(const NpyArray& array);
// `path` is for messages. Errors: A002.
Result<NpyArray> ParseNpy(std::string_view bytes, const std::string& path);
std::string NpyHeader(const Literal& literal);
NpyArray RawArray(std::string bytes, const Shape& shape);

// Conversions if the element type is not the parameter's. kNever rejects the array.
enum class CastArgs : uint8_t {
  kNever,
  kSafe,   // Converts if no value changes.
  kForce,  // Converts as `convert` does.
};
template <>
struct EnumWords<CastArgs> {
  static constexpr std::string_view kWords[] = {"never", "safe", "force"};
};

// `shape` must not be a tuple. Files store bf16 as V2 or as bits in uint16, f8 as V1 or as bits in uint8, and s4 and u4
// as bytes. `wanted_by` and `where` are for messages such as "argument 2 ('ids') needs s32[128], but a.npz:ids is ...".
// Errors: A004.
Result<Literal> LiteralFromNpy(const NpyArray& array, const Shape& shape, const std::string& wanted_by,
                               const std::string& where, CastArgs cast = CastArgs::kNever);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_NPY_H_
