#include "parser/mlir/read_mlir.h"

#include "parser/mlir/lowering.h"
#include "parser/mlir/simplify.h"
#include "parser/mlir/text_reader.h"

namespace hlo {

Result<std::unique_ptr<Module>> ReadMlir(std::shared_ptr<const SourceText> source, const ParseOptions& options) {
  auto module = std::make_unique<Module>("module");
  module->source = source;
  const auto read = [&]() -> Status {
    mlir::Document document = TRY(mlir::TextReader(source->text(), options).Read());
    mlir::Simplify(document);
    return mlir::Lowering(document, source->text(), *module, options).LowerDocument();
  };
  if (Status status = read(); !status) {
    status.error().source = std::move(source);
    FAIL(std::move(status).error());
  }
  return module;
}

}  // namespace hlo
