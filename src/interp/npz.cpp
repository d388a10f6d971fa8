#include "interp/npz.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "interp/dynamic.h"
#include "interp/elements.h"
#include "interp/strided.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Error Unreadable(const std::string& path, std::string_view why) {
  return Rejected("A002", Str("cannot read '", Escaped(path), "': ", why));
}

template <class T>
T Little(std::string_view bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Result<std::string> ReadBytes(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) FAIL(Unreadable(path, std::strerror(errno)));
  std::string bytes;
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) bytes.append(buffer, count);
  if (std::ferror(file.get())) FAIL(Unreadable(path, std::strerror(errno)));
  return bytes;
}

// ---- .npy ----------------------------------------------------------------------------------------------------------

// The value after 'key': in the header, a Python dictionary; up to the comma or brace that ends it.
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

Result<NpyArray> ParseNpy(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) FAIL(Unreadable(path, "not a .npy file"));
  const int version = static_cast<unsigned char>(bytes[6]);
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || bytes.size() < 8 + length_bytes)
    FAIL(Unreadable(path, Str(".npy version ", version)));
  const size_t length = length_bytes == 2 ? Little<uint16_t>(bytes, 8) : Little<uint32_t>(bytes, 8);
  if (bytes.size() - 8 - length_bytes < length) FAIL(Unreadable(path, "the header is cut off"));
  const std::string_view header = bytes.substr(8 + length_bytes, length);

  NpyArray array;
  std::string_view descr = HeaderValue(header, "'descr'");
  if (descr.size() < 5 || descr.front() != '\'' || descr.back() != '\'')
    FAIL(Unreadable(path, Str("element type ", Escaped(descr))));
  descr = descr.substr(1, descr.size() - 2);
  const char order = descr[0];
  array.kind = descr[1];
  if (!ParseInt(descr.substr(2), &array.width) || array.width < 1 || array.width > 16 ||
      std::string_view("biufcV").find(array.kind) == std::string_view::npos) {
    FAIL(Unreadable(path, Str("element type '", Escaped(descr), "'")));
  }
  std::string_view shape = HeaderValue(header, "'shape'");
  if (!shape.starts_with('(')) FAIL(Unreadable(path, "no shape in the header"));
  int64_t count = 1;
  for (const std::string_view part : Split(shape.substr(1), ',')) {
    if (Trim(part).empty()) continue;
    int64_t dim;
    if (!ParseInt(Trim(part), &dim) || dim < 0 || __builtin_mul_overflow(count, dim, &count))
      FAIL(Unreadable(path, Str("shape ", Escaped(shape))));
    array.dims.push_back(dim);
  }
  const std::string_view data = bytes.substr(8 + length_bytes + length);
  int64_t size;
  if (__builtin_mul_overflow(count, array.width, &size) || static_cast<int64_t>(data.size()) < size) {
    FAIL(Unreadable(
        path, Str("holds ", data.size(), " bytes of data, its shape needs ", count, " elements of ", array.width)));
  }
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
      FAIL(Unreadable(path, Str("elements of ", array.width, " bytes")));
    CopyStrided(array.dims, reinterpret_cast<const std::byte*>(array.bytes.data()), strides,
                reinterpret_cast<std::byte*>(row_major.data()), RowMajorStrides(array.dims), array.width);
    array.bytes = std::move(row_major);
  }
  return array;
}

// ---- zip -----------------------------------------------------------------------------------------------------------

Result<std::string> Inflate(std::string_view packed, uint64_t size, const std::string& path) {
  // Deflate packs at most about a thousandfold: a larger claim is a lie, and is not allocated.
  if (size / 1100 > packed.size() + 64) FAIL(Unreadable(path, "an entry claims an impossible size"));
  std::string bytes(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) FAIL(Unreadable(path, "zlib does not start"));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  uint64_t in_left = packed.size(), out_left = size;
  int code = Z_OK;
  while (code == Z_OK) {
    // zlib counts in 32 bits.
    const uInt in_part = static_cast<uInt>(std::min<uint64_t>(in_left, 1 << 30)),
               out_part = static_cast<uInt>(std::min<uint64_t>(out_left, 1 << 30));
    stream.avail_in = in_part;
    stream.avail_out = out_part;
    code = inflate(&stream, Z_NO_FLUSH);
    in_left -= in_part - stream.avail_in;
    out_left -= out_part - stream.avail_out;
    if (code == Z_BUF_ERROR || (code == Z_OK && in_part == stream.avail_in && out_part == stream.avail_out)) break;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || out_left != 0) FAIL(Unreadable(path, "a compressed entry is damaged"));
  return bytes;
}

struct Entry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;
};

// The central directory at the archive's end, with zip64's larger numbers.
Result<std::vector<Entry>> Directory(std::string_view bytes, const std::string& path) {
  const size_t end = bytes.rfind("PK\5\6");
  if (end == std::string_view::npos || end + 22 > bytes.size()) FAIL(Unreadable(path, "not a .npz file, or cut off"));
  uint64_t count = Little<uint16_t>(bytes, end + 10), at = Little<uint32_t>(bytes, end + 16);
  if (end >= 20 && bytes.substr(end - 20, 4) == "PK\6\7") {
    const uint64_t large = Little<uint64_t>(bytes, end - 12);
    if (large > bytes.size() || bytes.size() - large < 56 || bytes.substr(large, 4) != "PK\6\6")
      FAIL(Unreadable(path, "damaged zip64 directory"));
    count = Little<uint64_t>(bytes, large + 32);
    at = Little<uint64_t>(bytes, large + 48);
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > bytes.size() || bytes.size() - at < 46 || bytes.substr(at, 4) != "PK\1\2")
      FAIL(Unreadable(path, "damaged directory"));
    Entry entry;
    entry.method = Little<uint16_t>(bytes, at + 10);
    entry.crc = Little<uint32_t>(bytes, at + 16);
    entry.packed = Little<uint32_t>(bytes, at + 20);
    entry.size = Little<uint32_t>(bytes, at + 24);
    entry.offset = Little<uint32_t>(bytes, at + 42);
    const size_t name = Little<uint16_t>(bytes, at + 28), extra = Little<uint16_t>(bytes, at + 30),
                 comment = Little<uint16_t>(bytes, at + 32);
    if (bytes.size() - at < 46 + name + extra + comment) FAIL(Unreadable(path, "damaged directory"));
    entry.name = bytes.substr(at + 46, name);
    std::string_view fields = bytes.substr(at + 46 + name, extra);
    while (fields.size() >= 4) {
      const size_t length = Little<uint16_t>(fields, 2);
      if (fields.size() < 4 + length) break;
      if (Little<uint16_t>(fields, 0) == 1) {
        size_t next = 4;
        for (uint64_t* large : {&entry.size, &entry.packed, &entry.offset}) {
          if (*large != 0xFFFFFFFF || next + 8 > 4 + length) continue;
          *large = Little<uint64_t>(fields, next);
          next += 8;
        }
      }
      fields.remove_prefix(4 + length);
    }
    at += 46 + name + extra + comment;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> EntryBytes(std::string_view bytes, const Entry& entry, const std::string& path) {
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < 30 || bytes.substr(entry.offset, 4) != "PK\3\4")
    FAIL(Unreadable(path, "damaged entry"));
  const uint64_t at =
      entry.offset + 30 + Little<uint16_t>(bytes, entry.offset + 26) + Little<uint16_t>(bytes, entry.offset + 28);
  if (at > bytes.size() || bytes.size() - at < entry.packed)
    FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is cut off")));
  const std::string_view packed = bytes.substr(at, entry.packed);
  std::string data;
  if (entry.method == 0) data = packed;
  else if (entry.method == 8) data = TRY(Inflate(packed, entry.size, path));
  else FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is packed by method ", entry.method)));
  uint32_t crc = 0;
  for (size_t begin = 0; begin < data.size(); begin += 1 << 30) {
    crc = static_cast<uint32_t>(crc32(crc, reinterpret_cast<const Bytef*>(data.data() + begin),
                                      static_cast<uInt>(std::min<size_t>(1 << 30, data.size() - begin))));
  }
  if (crc != entry.crc) FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is damaged")));
  return data;
}

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// ---- Types ---------------------------------------------------------------------------------------------------------

// What a literal of `type` is called in a .npy: what ml_dtypes registers for the types that NumPy lacks.
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
  if (type == PrimitiveType::kF8E5M2) return "<f1";
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

std::string KeyOf(std::string_view stem, const ShapeIndex& index) {
  return index.empty() ? std::string(stem) : Str(stem, ".", Join(index, "."));
}

std::string NpyHeader(const Literal& literal) {
  std::string shape = Join(literal.shape().dims(), ", ");
  if (literal.shape().rank() == 1) shape += ",";
  std::string header =
      Str("{'descr': '", DescrOf(literal.shape().type()), "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out = Str(kMagic, '\1', '\0');
  Put(out, static_cast<uint16_t>(header.size()));
  return out + header;
}

}  // namespace

std::string NpyArray::ToString() const {
  const std::string_view names[] = {"bool", "int", "uint", "float", "complex", "void"};
  const std::string_view name = names[std::string_view("biufcV").find(kind)];
  std::string text = kind == 'b' ? "bool" : Str(name, width * 8);
  return Str(text, " (", Join(dims, ","), dims.size() == 1 ? ",)" : ")");
}

Result<NpzArrays> ReadNpz(const std::string& path) {
  const std::string bytes = TRY(ReadBytes(path));
  NpzArrays arrays;
  if (bytes.starts_with(kMagic)) {
    arrays.emplace_back("", TRY(ParseNpy(bytes, path)));
    return arrays;
  }
  for (const Entry& entry : TRY(Directory(bytes, path))) {
    std::string key = entry.name;
    if (key.ends_with(".npy")) key.resize(key.size() - 4);
    const std::string data = TRY(EntryBytes(bytes, entry, path));
    NpyArray array = TRY(ParseNpy(data, Str(path, ":", key)));
    arrays.emplace_back(std::move(key), std::move(array));
  }
  return arrays;
}

Result<Literal> LiteralFromNpy(const NpyArray& array, const Shape& declared, const std::string& wanted_by,
                               const std::string& where) {
  // An array may be smaller along a dynamic dimension.
  Shape shape = declared;
  if (declared.HasDynamicDims()) {
    shape = declared.WithDims(Dims(array.dims.begin(), array.dims.end()));
    if (!Fits(shape, declared)) shape = declared;
  }
  const PrimitiveType type = shape.type();
  const auto mismatch = [&](std::string_view more) {
    return Rejected("A004", Str(wanted_by, " wants ", declared, ", ", Escaped(where), " has ", array, more));
  };
  // Some writers make an array of one element of every scalar; nothing else can be meant.
  const bool scalar = shape.rank() == 0 && array.dims == std::vector<int64_t>{1};
  if (!Accepts(type, array) || (array.dims != shape.dims() && !scalar)) FAIL(mismatch(""));
  Literal literal = Literal::Uninitialized(shape);
  if (literal.byte_size() == 0) return literal;
  std::byte* const out = literal.mutable_raw();
  std::memcpy(out, array.bytes.data(), literal.byte_size());
  if (BitWidth(type) >= 8) return literal;
  // A byte an element: pred counts as true unless it is zero, numbers must be in range.
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

namespace {

// Arrays of a file, under the keys that count for one device.
using KeyedArrays = std::vector<std::pair<std::string, const NpyArray*>>;

KeyedArrays Keyed(const NpzArrays& arrays) {
  KeyedArrays keyed;
  for (const auto& [name, array] : arrays) keyed.emplace_back(name, &array);
  return keyed;
}

std::string WantedBy(const Instruction& parameter) {
  return Str("argument ", parameter.parameter_number(), " ('", parameter.name(), "')");
}

Error NoKey(const std::string& wanted_by, const Shape& shape, const std::string& path, const std::string& key,
            const KeyedArrays& arrays, std::string_view advice) {
  std::vector<std::string> keys;
  for (const auto& [name, array] : arrays) keys.push_back(Str("'", Escaped(name), "'"));
  return Rejected("A003", Str(wanted_by, " wants ", shape, ", ", Escaped(path), " has no key '", Escaped(key), "'"))
      .Hint(Str("its keys are ", Join(keys, ", "), "; ", advice));
}

// `parameter` from the arrays, with `stem` as the key of the whole.
Result<Literal> ReadParameter(const Shape& shape, ShapeIndex& index, const std::string& stem, const KeyedArrays& arrays,
                              const std::string& path, const std::string& wanted_by) {
  if (shape.IsToken()) return Literal(shape);
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      index.push_back(static_cast<int64_t>(i));
      elements.push_back(TRY(ReadParameter(shape.element(i), index, stem, arrays, path, wanted_by)));
      index.pop_back();
    }
    return Literal::Tuple(std::move(elements));
  }
  const std::string key = KeyOf(stem, index);
  for (const auto& [name, array] : arrays) {
    if (name == key) return LiteralFromNpy(*array, shape, wanted_by, key.empty() ? path : Str(path, ":", key));
  }
  FAIL(NoKey(wanted_by, shape, path, key, arrays, "'argN', the parameters' names, or 'N' are looked for"));
}

Result<std::vector<Literal>> ArgumentsFrom(KeyedArrays arrays, const std::string& path, const Module& module) {
  const auto parameters = module.entry().parameters();
  const auto has_all = [&](auto&& stem_of) {
    for (const Instruction* parameter : parameters) {
      bool all = true;
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
        if (leaf.IsToken()) return;
        const std::string key = KeyOf(stem_of(*parameter), index);
        all &= std::any_of(arrays.begin(), arrays.end(), [&](const auto& item) { return item.first == key; });
      });
      if (!all) return false;
    }
    return true;
  };
  const auto positional = [](const Instruction& parameter) { return Str("arg", parameter.parameter_number()); };
  const auto by_name = [](const Instruction& parameter) { return std::string(parameter.name()); };
  const auto by_number = [](const Instruction& parameter) { return Str(parameter.parameter_number()); };
  const auto no_key = [](const Instruction&) { return std::string(); };
  const bool in_order = !arrays.empty() && std::all_of(arrays.begin(), arrays.end(),
                                                       [](const auto& item) { return item.first.starts_with("arr_"); });
  std::function<std::string(const Instruction&)> stem_of = positional;
  if (has_all(positional)) {
    stem_of = positional;
  } else if (arrays.size() == 1 && arrays[0].first.empty() && parameters.size() == 1) {
    stem_of = no_key;
  } else if (has_all(by_name)) {
    stem_of = by_name;
  } else if (has_all(by_number)) {
    stem_of = by_number;
  } else if (in_order) {
    // Leaves take the arrays as they come.
    size_t next = 0;
    for (const Instruction* parameter : parameters) {
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
        if (!leaf.IsToken() && next < arrays.size()) arrays[next++].first = KeyOf(positional(*parameter), index);
      });
    }
  }
  for (const auto& [name, array] : arrays) {
    int64_t number = 0;
    if (!name.starts_with("arg") || !ParseInt(std::string_view(name).substr(3), &number)) continue;
    if (number < static_cast<int64_t>(parameters.size())) continue;
    FAIL(Rejected("A004", Str("'", Escaped(path), "' has '", name, "', but '", module.entry().name(), "' takes ",
                              parameters.size(), parameters.size() == 1 ? " argument" : " arguments"))
             .Hint("JAX drops arguments that are not used, so that later ones move up: jax.jit(f, keep_unused=True)"));
  }
  std::vector<Literal> args;
  for (const Instruction* parameter : parameters) {
    ShapeIndex index;
    args.push_back(
        TRY(ReadParameter(parameter->shape(), index, stem_of(*parameter), arrays, path, WantedBy(*parameter))));
  }
  return args;
}

}  // namespace

Result<std::vector<Literal>> ReadArguments(const std::string& path, const Module& module) {
  const NpzArrays arrays = TRY(ReadNpz(path));
  return ArgumentsFrom(Keyed(arrays), path, module);
}

std::optional<OfDevice> SplitDevicePrefix(std::string_view key) {
  const auto take = [&](char letter, int64_t* number) {
    const size_t dot = key.find('.');
    if (dot == std::string_view::npos || dot < 2 || key[0] != letter ||
        key.substr(1, dot - 1).find_first_not_of("0123456789") != std::string_view::npos ||
        !ParseInt(key.substr(1, dot - 1), number))
      return false;
    key.remove_prefix(dot + 1);
    return true;
  };
  OfDevice of = {-1, -1, {}};
  if (!take('r', &of.replica)) return std::nullopt;
  take('p', &of.partition);
  of.key = key;
  return of;
}

Status CheckDevice(const OfDevice& of, const Module& module, std::string_view where) {
  const ModuleHeader& header = module.header;
  if (of.replica < header.replica_count && of.partition < header.num_partitions) return {};
  FAIL(UsageError("A005", Str(where, " is for a device that is not there: replicas are ", header.replica_count,
                              ", partitions ", header.num_partitions)));
}

Result<std::vector<std::vector<Literal>>> ReadArgumentsByDevice(const std::string& path, const Module& module) {
  const NpzArrays arrays = TRY(ReadNpz(path));
  const auto parameters = module.entry().parameters();
  // A parameter may be called "r1.x".
  const auto split = [&](std::string_view key) -> std::optional<OfDevice> {
    for (const Instruction* parameter : parameters) {
      if (key.starts_with(parameter->name())) return std::nullopt;
    }
    return SplitDevicePrefix(key);
  };
  for (const auto& [name, array] : arrays) {
    if (const auto of = split(name))
      TRY(CheckDevice(*of, module, Str("'", Escaped(path), "': key '", Escaped(name), "'")));
  }
  std::vector<std::vector<Literal>> by_device;
  std::optional<std::vector<Literal>> shared;  // Of devices that have nothing of their own.
  for (int64_t replica = 0; replica < module.header.replica_count; ++replica) {
    for (int64_t partition = 0; partition < module.header.num_partitions; ++partition) {
      // The device's own first: the first of a key counts.
      KeyedArrays own, of_replica, of_all;
      for (const auto& [name, array] : arrays) {
        const auto of = split(name);
        if (!of) of_all.emplace_back(name, &array);
        else if (of->replica == replica && of->partition == partition) own.emplace_back(of->key, &array);
        else if (of->replica == replica && of->partition < 0) of_replica.emplace_back(of->key, &array);
      }
      const bool special = !own.empty() || !of_replica.empty();
      if (!special && shared) {
        by_device.push_back(*shared);
        continue;
      }
      for (const KeyedArrays& more : {of_replica, of_all}) {
        for (const auto& item : more) {
          if (std::ranges::none_of(own, [&](const auto& known) { return known.first == item.first; }))
            own.push_back(item);
        }
      }
      by_device.push_back(TRY(ArgumentsFrom(std::move(own), path, module)));
      if (!special) shared = by_device.back();
    }
  }
  return by_device;
}

Result<Literal> ReadFed(const NpzArrays& arrays, const std::string& path, int64_t number, const Shape& shape,
                        const std::string& wanted_by) {
  Literal value(shape);
  Status read;
  ForEachLeaf(shape, [&](const ShapeIndex& index, const Shape& leaf) {
    if (!read || !leaf.IsArray()) return;
    const std::string key = KeyOf(Str("in", number), index);
    const std::string sent = KeyOf(Str("out", number), index);
    const auto item = std::find_if(arrays.begin(), arrays.end(),
                                   [&](const auto& array) { return array.first == key || array.first == sent; });
    if (item == arrays.end()) {
      read = std::unexpected(
          Rejected("R007", Str(wanted_by, " wants ", leaf, ", ", Escaped(path), " has no key '", Escaped(key), "'")));
      return;
    }
    auto literal = LiteralFromNpy(item->second, leaf, wanted_by, Str(path, ":", item->first));
    if (!literal) {
      read = std::unexpected(std::move(literal).error());
      return;
    }
    Literal* place = &value;
    for (const int64_t i : index) place = &place->mutable_elements()[i];
    *place = std::move(*literal);
  });
  if (!read) FAIL(read.error());
  return value;
}

bool NamesTensor(std::string_view text) {
  return text.starts_with('@') || text.ends_with(".npy") || text.ends_with(".npz") ||
         text.find(".npz:") != std::string_view::npos;
}

Result<Literal> ReadTensor(const std::string& text, const Instruction& parameter) {
  const Shape& shape = parameter.shape();
  const std::string wanted_by = WantedBy(parameter);
  if (!shape.IsArray())
    FAIL(Rejected("A004", Str(wanted_by, " is ", shape, ", and '", Escaped(text), "' holds one array"))
             .Hint("--args=FILE.npz gives the leaves of tuples as argN.i.j"));
  if (text.starts_with('@')) {
    const std::string path = text.substr(1), descr = DescrOf(shape.type());
    NpyArray array{descr[1], ByteWidth(shape.type()), shape.dims(), TRY(ReadBytes(path))};
    const int64_t bytes = shape.NumElements() * array.width;
    if (static_cast<int64_t>(array.bytes.size()) != bytes)
      FAIL(Rejected("A004", Str(wanted_by, " wants ", shape, ", which is ", bytes, " bytes; ", Escaped(path), " has ",
                                array.bytes.size())));
    return LiteralFromNpy(array, shape, wanted_by, path);
  }
  const size_t colon = text.find(".npz:");
  const std::string path = colon == std::string::npos ? text : text.substr(0, colon + 4);
  const NpzArrays arrays = TRY(ReadNpz(path));
  if (colon == std::string::npos && arrays.size() == 1) return LiteralFromNpy(arrays[0].second, shape, wanted_by, path);
  const std::string key = colon == std::string::npos ? "" : text.substr(colon + 5);
  for (const auto& [name, array] : arrays) {
    if (name == key) return LiteralFromNpy(array, shape, wanted_by, text);
  }
  FAIL(NoKey(wanted_by, shape, path, key, Keyed(arrays), Str("name one as ", Escaped(path), ":KEY")));
}

namespace {

using NamedLiterals = std::vector<std::pair<std::string, const Literal*>>;

Status WriteNamed(const std::string& path, const NamedLiterals& values) {
  // A stored archive: local headers with data, then the directory. Zip's plain numbers reach to 4 GiB.
  std::string out, directory;
  int64_t entries = 0;
  bool too_large = false;
  for (const auto& [stem, value] : values) {
    ForEachLeaf(value->shape(), [&, &stem = stem, &value = value](const ShapeIndex& index, const Shape& leaf) {
      if (!leaf.IsArray() || too_large) return;
      const Literal& literal = value->At(index);
      const std::string name = KeyOf(stem, index) + ".npy", header = NpyHeader(literal);
      const uint64_t size = header.size() + literal.byte_size();
      too_large = out.size() + size > 0xFFFF0000 || entries >= 0xFFFF;
      if (too_large) return;
      uint32_t crc = static_cast<uint32_t>(
          crc32(0, reinterpret_cast<const Bytef*>(header.data()), static_cast<uInt>(header.size())));
      if (literal.byte_size() > 0)
        crc = static_cast<uint32_t>(
            crc32(crc, reinterpret_cast<const Bytef*>(literal.raw()), static_cast<uInt>(literal.byte_size())));
      std::string common;
      Put<uint16_t>(common, 20);  // Version needed.
      Put<uint16_t>(common, 0);
      Put<uint16_t>(common, 0);         // Stored.
      Put<uint32_t>(common, 0x210000);  // 1980-01-01: the same bytes every time.
      Put<uint32_t>(common, crc);
      Put<uint32_t>(common, static_cast<uint32_t>(size));
      Put<uint32_t>(common, static_cast<uint32_t>(size));
      Put<uint16_t>(common, static_cast<uint16_t>(name.size()));
      Put<uint16_t>(common, 0);
      directory += "PK\1\2";
      Put<uint16_t>(directory, 20);
      directory += common;
      directory.append(10, '\0');  // Comment, disk, attributes.
      Put<uint32_t>(directory, static_cast<uint32_t>(out.size()));
      directory += name;
      out += "PK\3\4";
      out += common;
      out += name;
      out += header;
      out.append(reinterpret_cast<const char*>(literal.raw()), literal.byte_size());
      ++entries;
    });
  }
  if (too_large)
    FAIL(LimitError("A013", Str("'", Escaped(path), "' would be larger than 4 GiB or hold more than 65535 arrays")));
  const uint32_t start = static_cast<uint32_t>(out.size());
  out += directory;
  out += "PK\5\6";
  Put<uint32_t>(out, 0);
  Put<uint16_t>(out, static_cast<uint16_t>(entries));
  Put<uint16_t>(out, static_cast<uint16_t>(entries));
  Put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  Put<uint32_t>(out, start);
  Put<uint16_t>(out, 0);
  return WriteFile(path, out);
}

// The elements of a tuple, or the one value that is none.
std::span<const Literal> Outputs(const Literal& result) {
  if (result.shape().IsTuple()) return result.elements();
  return {&result, 1};
}

std::string PrefixOf(int64_t device, int64_t partitions) {
  return partitions == 1 ? Str("r", device, ".") : Str("r", device / partitions, ".p", device % partitions, ".");
}

void Append(NamedLiterals& out, const std::string& prefix, std::span<const Literal> values) {
  for (size_t i = 0; i < values.size(); ++i) out.emplace_back(Str(prefix, i), &values[i]);
}

}  // namespace

Status WriteNpz(const std::string& path, std::string_view prefix, std::span<const Literal> values) {
  NamedLiterals named;
  Append(named, std::string(prefix), values);
  return WriteNamed(path, named);
}

Status WriteOutputs(const std::string& path, const Literal& result) { return WriteNpz(path, "out", Outputs(result)); }

Status WriteOutputsByDevice(const std::string& path, std::span<const Literal> results, int64_t partitions) {
  NamedLiterals named;
  for (size_t device = 0; device < results.size(); ++device)
    Append(named, Str(PrefixOf(static_cast<int64_t>(device), partitions), "out"), Outputs(results[device]));
  return WriteNamed(path, named);
}

Status WriteArgumentsByDevice(const std::string& path, std::span<const std::vector<Literal>> args, int64_t partitions) {
  NamedLiterals named;
  for (size_t i = 0; i < args[0].size(); ++i) {
    const bool shared = std::ranges::all_of(args, [&](const auto& of) { return of[i].BitEquals(args[0][i]); });
    for (size_t device = 0; device < (shared ? 1 : args.size()); ++device) {
      const std::string prefix = shared ? "" : PrefixOf(static_cast<int64_t>(device), partitions);
      named.emplace_back(Str(prefix, "arg", i), &args[device][i]);
    }
  }
  return WriteNamed(path, named);
}

}  // namespace hlo
