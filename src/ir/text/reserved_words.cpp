#include "ir/text/reserved_words.h"

#include "base/word_table.h"
#include "ir/primitive_type.h"

namespace hlo {

constexpr std::string_view kKeywords[] = {"HloModule",
                                          "ENTRY",
                                          "ROOT",
                                          "true",
                                          "false",
                                          "inf",
                                          "nan",
                                          "maximal",
                                          "replicated",
                                          "manual",
                                          "last_tile_dim_replicate",
                                          "shard_as",
                                          "shard_like",
                                          "unknown",
                                          "unreduced",
                                          "FileNames",
                                          "FunctionNames",
                                          "FileLocations",
                                          "StackFrames"};

std::span<const std::string_view> Keywords() { return kKeywords; }

bool IsReserved(std::string_view word) {
  static constexpr WordTable<std::size(kKeywords)> kTable([](size_t i) { return kKeywords[i]; });
  return kTable.Find(word) >= 0 || PrimitiveTypeFromText(word).has_value();
}

}  // namespace hlo
