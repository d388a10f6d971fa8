// Archives of arrays (.npz): zip archives of .npy files.
#ifndef HLO_INTERP_ARGUMENTS_NPZ_H_
#define HLO_INTERP_ARGUMENTS_NPZ_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "interp/arguments/npy.h"
#include "ir/literal.h"

namespace hlo {

// Keys and arrays in the order of the file. A .npy has the key "". Error: A002.
using NpzArrays = std::vector<std::pair<std::string, NpyArray>>;
Result<NpzArrays> ReadNpz(const std::string& path);

// Reads at most `most` bytes. Error: A002.
Result<std::string> ReadBytes(const std::string& path, size_t most = SIZE_MAX);

// Gives "stem", or "stem.1.2" for a leaf of a tuple.
std::string KeyOf(std::string_view stem, const ShapeIndex& index);
using NamedLiterals = std::vector<std::pair<std::string, const Literal*>>;
// Errors: A011, and A013 beyond the limits of zip without extensions.
Status WriteArrays(const std::string& path, const NamedLiterals& values);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_NPZ_H_
