#include "parser/input_format.h"

#include <algorithm>

#include "base/text.h"
#include "parser/proto_schema.h"

namespace hlo {
namespace {

using namespace std::literals;

constexpr std::string_view kFromJax =
    "JAX: jax.jit(f).lower(...).compiler_ir('hlo').as_hlo_text(print_large_constants=True) is this program as HLO";
constexpr std::string_view kFromTensorFlow =
    "f.experimental_get_compiler_ir(...)(stage='hlo') of a tf.function(jit_compile=True) is HLO text";
constexpr std::string_view kFromXla = "XLA_FLAGS=--xla_dump_to=DIR writes the HLO text of what XLA compiles";
constexpr std::string_view kFromLog =
    "remove the text before the module from each line: sed 's/^[^]]*] \\?//', and remove the lines above 'HloModule'";
constexpr std::string_view kArrays = "arrays go beside a module: --args=FILE.npz";
constexpr std::string_view kMlir = "MLIR (StableHLO, MHLO)";

struct Signature {
  std::string_view start;
  std::string_view name;
  std::string_view hint;
};

constexpr Signature kSignatures[] = {
    {"ML\xEFR"sv, "MLIR bytecode (StableHLO, MHLO)", kFromJax},
    {"module @"sv, kMlir, kFromJax},
    {"module {"sv, kMlir, kFromJax},
    {"module attributes"sv, kMlir, kFromJax},
    {"builtin.module"sv, kMlir, kFromJax},
    {"\"builtin.module\""sv, kMlir, kFromJax},
    {"func.func"sv, kMlir, kFromJax},
    {"#loc"sv, kMlir, kFromJax},
    {"{ lambda "sv, "a jaxpr", kFromJax},
    {"\xFF\xFE"sv, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 makes it readable; PowerShell's '>' writes UTF-16"},
    {"\xFE\xFF"sv, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 makes it readable"},
    {"\x1F\x8B"sv, "compressed by gzip", "gunzip it first"},
    {"\xFD\x37zXZ"sv, "compressed by xz", "unxz it first"},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd", "unzstd it first"},
    {"BZh"sv, "compressed by bzip2", "bunzip2 it first"},
    {"PK\x03\x04"sv, "a zip archive (.npz, .keras, .pt2)", kArrays},
    {"\x93NUMPY"sv, "an array of NumPy", kArrays},
    {"\x89HDF"sv, "HDF5 (weights of Keras)", kFromTensorFlow},
    {"\x08\x01\x12"sv, "a TensorFlow SavedModel", kFromTensorFlow},
    {"\x7F\x45LF"sv, "an ELF binary", kFromXla},
    {"BC\xC0\xDE"sv, "LLVM bitcode", kFromXla},
    {"; ModuleID"sv, "LLVM IR", kFromXla},
    {"source_filename ="sv, "LLVM IR", kFromXla},
    {"target datalayout"sv, "LLVM IR", kFromXla},
    {"target triple"sv, "LLVM IR", kFromXla},
    {".version"sv, "PTX", kFromXla},
    {"{\""sv, "JSON", kFromXla},
};

std::string_view SkipComments(std::string_view text) {
  for (;;) {
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

bool IsBinary(std::string_view text) {
  const std::string_view start = text.substr(0, 4096);
  return std::any_of(start.begin(), start.end(), [](char c) { return (c >= 0 && c < '\t') || (c > '\r' && c < ' '); });
}

// True also for the aliases `#name = ...` and `!name = ...`.
bool IsMlirText(std::string_view start) {
  for (const Signature& signature : kSignatures) {
    if (signature.name == kMlir && start.starts_with(signature.start)) return true;
  }
  if (!start.starts_with('#') && !start.starts_with('!')) return false;
  const size_t end = std::min(start.find(' '), start.size());
  return end > 1 && start.substr(end).starts_with(" = ");
}

// True for `name: value`, `name {}` or `name { name: ...`, where the first name is a field of one of the messages.
bool IsTextProto(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with('#')) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  const auto word = [&] {
    const size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), text.size());
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return found;
  };
  const std::string_view first = word();
  bool known = false;
  for (const ProtoType type : {ProtoType::kHloModuleProto, ProtoType::kHloProto, ProtoType::kHloSnapshot}) {
    for (const ProtoField& field : FieldsOf(type)) known = known || field.name == first;
  }
  if (!known || text.empty()) return false;
  if (text[0] == ':') return true;
  if (text[0] != '{') return false;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.starts_with('}') || (!word().empty() && (text.starts_with(':') || text.starts_with('{')));
}

// Such as "I0000 00:00:1786692991.692212 1709485 hlo_pass.cc:12] " or "2026-11-28 21:00:00.123456: I
// xla/hlo_pass.cc:12] ".
bool BeginsWithLogLine(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const size_t bracket = line.find("] ");
  if (bracket == std::string_view::npos) return false;
  const std::string_view prefix = line.substr(0, bracket);
  const size_t colon = prefix.rfind(':');
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (colon == std::string_view::npos || !is_number(prefix.substr(colon + 1))) return false;
  const bool is_glog = prefix.size() > 5 && "IWEF"sv.find(prefix[0]) != std::string_view::npos &&
                       is_number(prefix.substr(1, 4)) && prefix[5] == ' ';
  const bool is_tsl = prefix.size() > 5 && is_number(prefix.substr(0, 4)) && prefix[4] == '-';
  return is_glog || is_tsl;
}

}  // namespace

InputFormat InputFormatOf(std::string_view text) {
  // Tags of the first fields of a module, or of a message around it.
  const bool has_tag = text.starts_with('\x0A') || text.starts_with('\x12') || text.starts_with('\x1A');
  if (has_tag && IsBinary(text)) return InputFormat::kBinaryProto;
  if (IsMlirText(SkipComments(text))) return InputFormat::kMlirText;
  return IsTextProto(text) ? InputFormat::kTextProto : InputFormat::kHloText;
}

std::optional<ForeignFormat> ForeignFormatOf(std::string_view text) {
  const std::string_view start = SkipComments(text);
  for (const Signature& signature : kSignatures) {
    if (!start.starts_with(signature.start)) continue;
    const bool is_text =
        std::all_of(signature.start.begin(), signature.start.end(), [](char c) { return c >= ' ' && c < '\x7F'; });
    return ForeignFormat{signature.name, signature.hint, !is_text};
  }
  if (BeginsWithLogLine(start)) return ForeignFormat{"a log", kFromLog};
  // Text has no NUL at its start. The parser reports other control characters at their place.
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) return ForeignFormat{"binary data", kFromXla};
  return std::nullopt;
}

}  // namespace hlo
