#include "interp/arguments/npz.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/arguments/file_bytes.h"

namespace hlo {
namespace {

Result<std::string> Inflate(std::string_view packed, uint64_t size, const std::string& path) {
  // Deflate compresses by a factor of at most about 1000.
  if (size / 1100 > packed.size() + 64)
    FAIL(Unreadable(path, "the size of an entry is impossible for its compressed data"));
  std::string bytes(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) FAIL(Unreadable(path, "zlib cannot be started"));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  uint64_t in_left = packed.size(), out_left = size;
  int code = Z_OK;
  while (code == Z_OK) {
    // zlib counts bytes in 32 bits.
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

// Reads the central directory, which may have zip64's larger numbers.
Result<std::vector<Entry>> Directory(std::string_view bytes, const std::string& path) {
  const size_t end = bytes.rfind("PK\5\6");
  if (end == std::string_view::npos || end + 22 > bytes.size())
    FAIL(Unreadable(path, "it is not a .npz file, or it is cut off"));
  uint64_t count = Little<uint16_t>(bytes, end + 10), at = Little<uint32_t>(bytes, end + 16);
  if (end >= 20 && bytes.substr(end - 20, 4) == "PK\6\7") {
    const uint64_t large = Little<uint64_t>(bytes, end - 12);
    if (large > bytes.size() || bytes.size() - large < 56 || bytes.substr(large, 4) != "PK\6\6")
      FAIL(Unreadable(path, "the zip64 list of arrays at the end of the archive is damaged"));
    count = Little<uint64_t>(bytes, large + 32);
    at = Little<uint64_t>(bytes, large + 48);
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > bytes.size() || bytes.size() - at < 46 || bytes.substr(at, 4) != "PK\1\2")
      FAIL(Unreadable(path, "the list of arrays at the end of the archive is damaged"));
    Entry entry;
    entry.method = Little<uint16_t>(bytes, at + 10);
    entry.crc = Little<uint32_t>(bytes, at + 16);
    entry.packed = Little<uint32_t>(bytes, at + 20);
    entry.size = Little<uint32_t>(bytes, at + 24);
    entry.offset = Little<uint32_t>(bytes, at + 42);
    const size_t name = Little<uint16_t>(bytes, at + 28), extra = Little<uint16_t>(bytes, at + 30),
                 comment = Little<uint16_t>(bytes, at + 32);
    if (bytes.size() - at < 46 + name + extra + comment)
      FAIL(Unreadable(path, "the list of arrays at the end of the archive is damaged"));
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

uint32_t Checksum(std::string_view data) {
  constexpr int64_t kPiece = 16 << 20;
  const auto size = static_cast<int64_t>(data.size());
  std::vector<uint32_t> pieces((size + kPiece - 1) / kPiece);
  ParallelFor(size, kPiece, [&](int64_t begin, int64_t end) {
    pieces[begin / kPiece] = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(data.data() + begin), static_cast<uInt>(end - begin)));
  });
  uLong crc = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * kPiece;
    crc = crc32_combine(crc, pieces[i], std::min(kPiece, size - begin));
  }
  return static_cast<uint32_t>(crc);
}

// Returns a part of `bytes`, or of `unpacked` if the entry is compressed.
Result<std::string_view> EntryBytes(std::string_view bytes, const Entry& entry, const std::string& path,
                                    std::string& unpacked) {
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < 30 || bytes.substr(entry.offset, 4) != "PK\3\4")
    FAIL(Unreadable(path, Str("the header of entry '", Escaped(entry.name), "' is damaged")));
  const uint64_t at =
      entry.offset + 30 + Little<uint16_t>(bytes, entry.offset + 26) + Little<uint16_t>(bytes, entry.offset + 28);
  if (at > bytes.size() || bytes.size() - at < entry.packed)
    FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is cut off")));
  std::string_view data = bytes.substr(at, entry.packed);
  if (entry.method == 8) data = unpacked = TRY(Inflate(data, entry.size, path));
  else if (entry.method != 0)
    FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is compressed by method ", entry.method,
                              ", expected 0 (stored) or 8 (deflate)")));
  if (Checksum(data) != entry.crc) FAIL(Unreadable(path, Str("entry '", Escaped(entry.name), "' is damaged")));
  return data;
}

}  // namespace

Result<std::string> ReadBytes(const std::string& path, size_t most) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) FAIL(Unreadable(path, std::strerror(errno)));
  std::string bytes;
  struct stat about = {};
  if (fstat(fileno(file.get()), &about) == 0 && S_ISREG(about.st_mode))
    Reserve(bytes, std::min<size_t>(most, static_cast<size_t>(about.st_size)));
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, std::min(sizeof buffer, most - bytes.size()), file.get())) > 0;)
    bytes.append(buffer, count);
  if (std::ferror(file.get())) FAIL(Unreadable(path, std::strerror(errno)));
  return bytes;
}

Result<NpzArrays> ReadNpz(const std::string& path) {
  const std::string bytes = TRY(ReadBytes(path));
  NpzArrays arrays;
  if (IsNpy(bytes)) {
    arrays.emplace_back("", TRY(ParseNpy(bytes, path)));
    return arrays;
  }
  for (const Entry& entry : TRY(Directory(bytes, path))) {
    std::string key = entry.name;
    if (key.ends_with(".npy")) key.resize(key.size() - 4);
    std::string unpacked;
    const std::string_view data = TRY(EntryBytes(bytes, entry, path, unpacked));
    NpyArray array = TRY(ParseNpy(data, Str(path, ":", key)));
    arrays.emplace_back(std::move(key), std::move(array));
  }
  return arrays;
}

std::string KeyOf(std::string_view stem, const ShapeIndex& index) {
  return index.empty() ? std::string(stem) : Str(stem, ".", Join(index, "."));
}

Status WriteArrays(const std::string& path, const NamedLiterals& values) {
  // Without zip64, offsets end at 4 GiB.
  std::string out, directory;
  size_t total = 0;
  for (const auto& [stem, value] : values)
    ForEachLeaf(value->shape(), [&, &value = value](const ShapeIndex& index, const Shape&) {
      total += static_cast<size_t>(value->At(index).byte_size());
    });
  Reserve(out, std::min<size_t>(total + total / 64, size_t{1} << 32));
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
      const std::string_view data(reinterpret_cast<const char*>(literal.raw()), literal.byte_size());
      const auto crc = static_cast<uint32_t>(crc32_combine(Checksum(header), Checksum(data), std::ssize(data)));
      std::string common;
      AppendRaw<uint16_t>(common, 20);  // Version needed.
      AppendRaw<uint16_t>(common, 0);
      AppendRaw<uint16_t>(common, 0);         // Stored.
      AppendRaw<uint32_t>(common, 0x210000);  // 1980-01-01: equal values give equal files.
      AppendRaw<uint32_t>(common, crc);
      AppendRaw<uint32_t>(common, static_cast<uint32_t>(size));
      AppendRaw<uint32_t>(common, static_cast<uint32_t>(size));
      AppendRaw<uint16_t>(common, static_cast<uint16_t>(name.size()));
      AppendRaw<uint16_t>(common, 0);
      directory += "PK\1\2";
      AppendRaw<uint16_t>(directory, 20);
      directory += common;
      directory.append(10, '\0');  // Comment, disk, attributes.
      AppendRaw<uint32_t>(directory, static_cast<uint32_t>(out.size()));
      directory += name;
      out += "PK\3\4";
      out += common;
      out += name;
      out += header;
      out += data;
      ++entries;
    });
  }
  if (too_large)
    FAIL(LimitError("A013", Str("'", Escaped(path), "' would be larger than 4 GiB or hold more than 65535 arrays")));
  const uint32_t start = static_cast<uint32_t>(out.size());
  out += directory;
  out += "PK\5\6";
  AppendRaw<uint32_t>(out, 0);
  AppendRaw<uint16_t>(out, static_cast<uint16_t>(entries));
  AppendRaw<uint16_t>(out, static_cast<uint16_t>(entries));
  AppendRaw<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  AppendRaw<uint32_t>(out, start);
  AppendRaw<uint16_t>(out, 0);
  return WriteFile(path, out);
}

}  // namespace hlo
