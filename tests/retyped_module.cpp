#include "tests/retyped_module.h"

#include <cctype>

#include "base/source_text.h"
#include "base/text.h"
#include "parser/parser.h"

namespace hlo {

std::unique_ptr<Module> ValidOrNull(const std::string& text, VerifyLevel level) {
  auto module = Parse(std::make_shared<const SourceText>("law", text));
  if (!module || !Verify(**module, level)) return nullptr;
  return std::move(*module);
}

std::string Retyped(const std::string& text, std::string_view from, std::string_view to) {
  const std::string pattern = Str(from, "[");
  std::string retyped;
  size_t at = 0;
  for (size_t next; (next = text.find(pattern, at)) != std::string::npos; at = next + from.size()) {
    retyped.append(text, at, next - at);
    const bool whole = next == 0 || std::isalnum(static_cast<unsigned char>(text[next - 1])) == 0;
    retyped += whole ? to : from;
  }
  return retyped.append(text, at);
}

}  // namespace hlo
