#include "passes/log_why.h"

#include "base/source_text.h"
#include "base/text.h"
#include "ir/module.h"
#include "ir/text/printer.h"

namespace hlo {

std::string PlaceOf(const Instruction& inst) {
  const Module& module = inst.computation().module();
  std::string in = Str("in '", inst.computation().name(), "'");
  if (module.source == nullptr || inst.range().empty()) return in;
  const SourceText::Place place = module.source->PlaceOf(inst.range().begin);
  return Str(module.source->name(), ":", place.line, ":", place.column, " ", in);
}

void LogWhy(std::string_view who, const Instruction& inst, std::string_view became, std::string_view why,
            const std::source_location& where) {
  internal::WriteLog(where.file_name(), static_cast<int>(where.line()),
                     Str(who, " at ", PlaceOf(inst), ": ", ToString(inst), " ", became, "   since ", why));
}

}  // namespace hlo
