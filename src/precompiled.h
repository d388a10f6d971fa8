// Headers that most sources include, compiled once for each set of compiler flags. The Makefile includes this file
// before every source. Sources still include the headers that they use, because clang-tidy and editors do not use this
// file. Only stable headers belong here, because a change of one recompiles everything.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/source_text.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
