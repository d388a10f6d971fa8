// Reads locations: loc("name"("file.py":1:2 to :5)), loc(callsite(... at ...)), loc(fused[...]), loc(#loc3).
#ifndef HLO_PARSER_MLIR_LOCATIONS_H_
#define HLO_PARSER_MLIR_LOCATIONS_H_

#include <string_view>
#include <unordered_map>

#include "ir/metadata.h"
#include "parser/mlir/operation.h"

namespace hlo::mlir {

class Locations {
 public:
  Locations(const Document& document, std::string_view text) : document_(document), text_(text) {}

  // `location` is the text in loc(...). Names become op_name, and the innermost file and line the source.
  const Metadata& Read(SourceRange location);

 private:
  void Fill(SourceRange location, int depth, Metadata& metadata) const;

  const Document& document_;
  std::string_view text_;
  std::unordered_map<std::string_view, Metadata> known_;
};

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_LOCATIONS_H_
