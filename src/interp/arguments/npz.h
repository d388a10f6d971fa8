// Archives of arrays: .npz, a zip archive of .npy, stored or deflated.
#ifndef HLO_INTERP_ARGUMENTS_NPZ_H_
#define HLO_INTERP_ARGUMENTS_NPZ_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "interp/arguments/npy.h"
#include "ir/literal.h"

namespace hlo {

// Key and array in the order of the file; the key of a .npy is "". Errors [A002]: unreadable, cut off, not such a file.
using NpzArrays = std::vector<std::pair<std::string, NpyArray>>;
Result<NpzArrays> ReadNpz(const std::string& path);

// The bytes of a file, or the first `most` of them. Error [A002].
Result<std::string> ReadBytes(const std::string& path, size_t most = SIZE_MAX);

// "stem", or "stem.1.2" of a tuple's leaf.
std::string KeyOf(std::string_view stem, const ShapeIndex& index);
// Each value under its key, the leaves of tuples under theirs. The file appears whole or not at all ([A011]); [A013]:
// more than zip's plain numbers hold.
using NamedLiterals = std::vector<std::pair<std::string, const Literal*>>;
Status WriteArrays(const std::string& path, const NamedLiterals& values);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_NPZ_H_
