#include "interp/arguments/npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>

#include "interp/arguments/file_bytes.h"
#include "interp/contraction.h"
#include "interp/dynamic.h"
#include "interp/strided.h"

namespace hlo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Finds 'key' in the header, which is a Python dictionary.
std::string_view HeaderValue(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  std::string_view value = Trim(header.substr(colon + 1));
  const size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  return end == std::string_view::npos ? std::string_view() : Trim(value.substr(0, end));
}

void SwapBytes(std::string& bytes, int64_t word) {
  for (size_t i = 0; i + word <= bytes.size(); i += word) std::reverse(bytes.begin() + i, bytes.begin() + i + word);
}

}  // namespace

std::optional<PrimitiveType> OwnTypeOf(const NpyArray& array) {
  switch (array.kind) {
    case 'b': return PrimitiveType::kPred;
    case 'i': return PrimitiveTypeFromText(Str("s", 8 * array.width));
    case 'u':
    case 'f':
    case 'c': return PrimitiveTypeFromText(Str(std::string_view(&array.kind, 1), 8 * array.width));
    default: return std::nullopt;
  }
}

bool IsNpy(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<NpyArray> ParseNpy(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) FAIL(Unreadable(path, "it is not a .npy file"));
  const int version = static_cast<unsigned char>(bytes[6]);
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || bytes.size() < 8 + length_bytes)
    FAIL(Unreadable(path, Str("its .npy version is ", version, ", expected 1 to 3")));
  const size_t length = length_bytes == 2 ? Little<uint16_t>(bytes, 8) : Little<uint32_t>(bytes, 8);
  if (bytes.size() - 8 - length_bytes < length) FAIL(Unreadable(path, "the header is cut off"));
  const std::string_view header = bytes.substr(8 + length_bytes, length);

  NpyArray array;
  std::string_view descr = HeaderValue(header, "'descr'");
  if (descr.size() < 5 || descr.front() != '\'' || descr.back() != '\'')
    FAIL(Unreadable(path, Str("its element type ", Escaped(descr), " is not supported")));
  descr = descr.substr(1, descr.size() - 2);
  const char order = descr[0];
  array.kind = descr[1];
  if (!ParseInt(descr.substr(2), &array.width) || array.width < 1 || array.width > 16 ||
      std::string_view("biufcV").find(array.kind) == std::string_view::npos) {
    FAIL(Unreadable(path, Str("its element type '", Escaped(descr), "' is not supported")));
  }
  std::string_view shape = HeaderValue(header, "'shape'");
  if (!shape.starts_with('(')) FAIL(Unreadable(path, "its header has no shape"));
  int64_t count = 1;
  for (const std::string_view part : Split(shape.substr(1), ',')) {
    if (Trim(part).empty()) continue;
    int64_t dim;
    if (!ParseInt(Trim(part), &dim) || dim < 0 || __builtin_mul_overflow(count, dim, &count))
      FAIL(Unreadable(path, Str("its header has the malformed shape ", Escaped(shape))));
    array.dims.push_back(dim);
  }
  const std::string_view data = bytes.substr(8 + length_bytes + length);
  int64_t size;
  if (__builtin_mul_overflow(count, array.width, &size) || static_cast<int64_t>(data.size()) < size) {
    FAIL(Unreadable(path, Str("it holds ", data.size(), " bytes of data, but its shape needs ", count, " elements of ",
                              array.width, array.width == 1 ? " byte" : " bytes")));
  }
  Reserve(array.bytes, static_cast<size_t>(size));
  array.bytes = data.substr(0, size);
  if (order == '>') SwapBytes(array.bytes, array.kind == 'c' ? array.width / 2 : array.width);
  if (HeaderValue(header, "'fortran_order'") == "True" && count > 0) {
    std::string row_major(size, '\0');
    std::vector<int64_t> strides;
    int64_t stride = 1;
    for (const int64_t dim : array.dims) {
      strides.push_back(stride);
      stride *= dim;
    }
    if (!std::has_single_bit(static_cast<uint64_t>(array.width)))
      FAIL(Unreadable(path, Str("its elements have ", array.width, " bytes, expected 1, 2, 4, 8 or 16")));
    CopyStrided(array.dims, reinterpret_cast<const std::byte*>(array.bytes.data()), strides,
                reinterpret_cast<std::byte*>(row_major.data()), RowMajorStrides(array.dims), array.width);
    array.bytes = std::move(row_major);
  }
  return array;
}

namespace {

// Types that NumPy lacks have the names of ml_dtypes, except f8e5m2, whose name "<f1" ml_dtypes cannot read again. The
// reader accepts both names.
std::string DescrOf(PrimitiveType type) {
  switch (ClassOf(type)) {
    case TypeClass::kPred: return "|b1";
    case TypeClass::kSigned: return Str(ByteWidth(type) == 1 ? "|i" : "<i", ByteWidth(type));
    case TypeClass::kUnsigned: return Str(ByteWidth(type) == 1 ? "|u" : "<u", ByteWidth(type));
    case TypeClass::kComplex: return Str("<c", ByteWidth(type));
    default: break;
  }
  if (type == PrimitiveType::kF16 || type == PrimitiveType::kF32 || type == PrimitiveType::kF64)
    return Str("<f", ByteWidth(type));
  return Str("<V", ByteWidth(type));
}

bool Accepts(PrimitiveType type, const NpyArray& array) {
  if (array.width != ByteWidth(type)) return false;
  switch (ClassOf(type)) {
    case TypeClass::kPred: return array.kind == 'b';
    case TypeClass::kSigned: return array.kind == 'i' || (BitWidth(type) < 8 && array.kind == 'V');
    case TypeClass::kUnsigned: return array.kind == 'u' || (BitWidth(type) < 8 && array.kind == 'V');
    case TypeClass::kComplex: return array.kind == 'c';
    default: break;
  }
  if (type == PrimitiveType::kF16 || type == PrimitiveType::kF32 || type == PrimitiveType::kF64)
    return array.kind == 'f';
  return array.kind == 'V' || array.kind == 'u' || (type == PrimitiveType::kF8E5M2 && array.kind == 'f');
}

// The mantissa of long double holds s64 and u64.
std::complex<long double> NumberAt(const Literal& literal, int64_t i) {
  const PrimitiveType type = literal.shape().type();
  if (IsComplex(type)) return literal.GetComplex(i);
  if (IsFloat(type)) return literal.GetDouble(i);
  const int64_t bits = literal.GetInt(i);
  return type == PrimitiveType::kU64 ? static_cast<long double>(static_cast<uint64_t>(bits)) : bits;
}

int64_t FirstChanged(const Literal& original, const Literal& converted) {
  const auto same = [](long double a, long double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (int64_t i = 0; i < original.shape().NumElements(); ++i) {
    const std::complex<long double> a = NumberAt(original, i), b = NumberAt(converted, i);
    if (!same(a.real(), b.real()) || !same(a.imag(), b.imag())) return i;
  }
  return -1;
}

}  // namespace

NpyArray RawArray(std::string bytes, const Shape& shape) {
  return {DescrOf(shape.type())[1], ByteWidth(shape.type()), shape.dims(), std::move(bytes)};
}

std::string NpyHeader(const Literal& literal) {
  std::string shape = Join(literal.shape().dims(), ", ");
  if (literal.shape().rank() == 1) shape += ",";
  std::string header =
      Str("{'descr': '", DescrOf(literal.shape().type()), "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out = Str(kMagic, '\1', '\0');
  AppendRaw(out, static_cast<uint16_t>(header.size()));
  return out + header;
}

std::string NpyArray::ToString() const {
  const std::string_view names[] = {"bool", "int", "uint", "float", "complex", "void"};
  const std::string_view name = names[std::string_view("biufcV").find(kind)];
  std::string text = kind == 'b' ? "bool" : Str(name, width * 8);
  return Str(text, " (", Join(dims, ","), dims.size() == 1 ? ",)" : ")");
}

Result<Literal> LiteralFromNpy(const NpyArray& array, const Shape& declared, const std::string& wanted_by,
                               const std::string& where, CastArgs cast) {
  // An array may be smaller along a dynamic dimension.
  Shape shape = declared;
  if (declared.HasDynamicDims()) {
    shape = declared.WithDims(Dims(array.dims.begin(), array.dims.end()));
    if (!Fits(shape, declared)) shape = declared;
  }
  const PrimitiveType type = shape.type();
  const auto mismatch = [&](std::string_view more) {
    return Rejected("A004", Str(wanted_by, " needs ", declared, ", but ", Escaped(where), " is ", array, more));
  };
  // Some writers store scalars as arrays of one element.
  const bool scalar = shape.rank() == 0 && array.dims == std::vector<int64_t>{1};
  if (array.dims != shape.dims() && !scalar) FAIL(mismatch(""));
  const bool narrower = BitWidth(type) < 8 && type != PrimitiveType::kPred;  // Bytes may be out of range.
  if (!Accepts(type, array) || (narrower && cast == CastArgs::kForce)) {
    const std::optional<PrimitiveType> own = OwnTypeOf(array);
    if (!own) FAIL(mismatch(""));
    const Literal original = TRY(LiteralFromNpy(array, shape.WithType(*own), wanted_by, where));
    Literal converted = Converted(original, type);
    if (cast == CastArgs::kForce) return converted;
    const int64_t changed = FirstChanged(original, converted);
    if (changed < 0 && cast == CastArgs::kSafe) return converted;
    FAIL(mismatch("").Hint(
        changed < 0
            ? std::string("the values fit: --cast_args=safe converts them")
            : Str("element ", changed, " would become another number; --cast_args=force converts it nevertheless")));
  }
  Literal literal = Literal::Uninitialized(shape);
  if (literal.byte_size() == 0) return literal;
  std::byte* const out = literal.mutable_raw();
  std::memcpy(out, array.bytes.data(), literal.byte_size());
  if (BitWidth(type) >= 8) return literal;
  for (int64_t i = 0; i < literal.byte_size(); ++i) {
    const auto value = std::to_integer<uint8_t>(out[i]);
    if (type == PrimitiveType::kPred) {
      out[i] = std::byte{value != 0};
    } else if (IsSigned(type)) {
      const int half = 1 << (BitWidth(type) - 1), number = static_cast<int8_t>(value);
      if (number < -half || number >= half) FAIL(mismatch(Str("; element ", i, " is ", number, ", out of range")));
    } else if (value >> BitWidth(type) != 0) {
      FAIL(mismatch(Str("; element ", i, " is ", value, ", out of range")));
    }
  }
  return literal;
}

}  // namespace hlo
