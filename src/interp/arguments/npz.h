// Archives of arrays: .npz, a zip archive of .npy files, stored or deflated.
#ifndef HLO_INTERP_ARGUMENTS_NPZ_H_
#define HLO_INTERP_ARGUMENTS_NPZ_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "interp/arguments/npy.h"
#include "ir/literal.h"

namespace hlo {

// Keys and arrays in the order of the file; a .npy has the key "". Errors: A002 for unreadable, truncated and other
// files.
using NpzArrays = std::vector<std::pair<std::string, NpyArray>>;
Result<NpzArrays> ReadNpz(const std::string& path);

// The bytes of a file, at most `most`. Error: A002.
Result<std::string> ReadBytes(const std::string& path, size_t most = SIZE_MAX);

// "stem", or "stem.1.2" for a leaf of a tuple.
std::string KeyOf(std::string_view stem, const ShapeIndex& index);
// Writes each value under its key, and leaves of tuples under their keys. The file is written completely or not at all
// (A011). Error: A013 if it exceeds the limits of zip without extensions.
using NamedLiterals = std::vector<std::pair<std::string, const Literal*>>;
Status WriteArrays(const std::string& path, const NamedLiterals& values);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_NPZ_H_
