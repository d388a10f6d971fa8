// Headers that most sources include, compiled once for each set of compiler flags (see the Makefile). The build puts
// this file in front of every source. Sources still include what they use: clang-tidy and editors read them without it.
// Only headers that seldom change belong here, since a change of one compiles everything again.

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
