// Rules of the module's header: entry layout, aliases, donors.
#include <set>

#include "base/text.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

// Whether the orders of dimensions are equal. Tiles, padding and memory space may differ.
bool SameOrder(const Shape& a, const Shape& b) {
  if (a.IsArray() && a.layout().minor_to_major != b.layout().minor_to_major) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameOrder(a.element(i), b.element(i))) return false;
  }
  return true;
}

bool Agrees(const Shape& said, const Shape& is, bool strict) {
  return ShapesMatch(said, is, TypeMatch::kExact) && (!strict || SameOrder(said, is));
}

std::string Text(const Shape& shape, bool strict) { return strict ? shape.ToStringWithLayout() : shape.ToString(); }

void CheckEntryLayout(Findings& findings) {
  const ModuleHeader& header = findings.module().header;
  const Computation& entry = findings.module().entry();
  if (!header.entry_result) return;
  const bool strict = findings.strict();
  const std::vector<Shape>& parameters = header.entry_parameters->elements();
  if (parameters.size() != entry.parameters().size()) {
    findings.Add(ErrorInHeader(findings.module(), "V262", "entry_computation_layout",
                               Str("entry_computation_layout has ", parameters.size(),
                                   " parameters, but the entry has ", entry.parameters().size())));
    return;
  }
  // A layout that equals the instruction's is checked with the instruction.
  const auto check_layouts = [&](const Shape& said, const Shape& is) {
    if (said == is) return;
    ForEachLeaf(said, [&](const ShapeIndex&, const Shape& leaf) {
      std::string fault = LayoutFault(leaf);
      if (!fault.empty())
        findings.Add(ErrorInHeader(findings.module(), "V261", "entry_computation_layout", std::move(fault)));
    });
  };
  check_layouts(*header.entry_result, entry.root().shape());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Instruction& parameter = entry.parameter(static_cast<int64_t>(i));
    check_layouts(parameters[i], parameter.shape());
    if (Agrees(parameters[i], parameter.shape(), strict)) continue;
    findings.Add(ErrorAt(parameter, "V262",
                         Str("parameter ", i, " is ", Text(parameter.shape(), strict),
                             ", but entry_computation_layout says ", Text(parameters[i], strict))));
  }
  if (!Agrees(*header.entry_result, entry.root().shape(), strict)) {
    findings.Add(ErrorAtResult(entry.root(), "V262",
                               Str("the result is ", Text(entry.root().shape(), strict),
                                   ", but entry_computation_layout says ", Text(*header.entry_result, strict))));
  }
}

const Shape* ParameterArray(const Computation& entry, int64_t parameter, const ShapeIndex& index) {
  if (parameter < 0 || parameter >= static_cast<int64_t>(entry.parameters().size())) return nullptr;
  const Shape* shape = FindSubShape(entry.parameter(parameter).shape(), index);
  return shape != nullptr && shape->IsArray() ? shape : nullptr;
}

bool MustAliasFits(const Module& module, const InputOutputAlias& alias, const Shape& input, const Shape& output) {
  const ModuleHeader& header = module.header;
  if (!header.entry_result) return Compatible(input, output);
  const std::vector<Shape>& parameters = header.entry_parameters->elements();
  const Shape* from = alias.parameter < static_cast<int64_t>(parameters.size())
                          ? FindSubShape(parameters[alias.parameter], alias.parameter_index)
                          : nullptr;
  const Shape* to = FindSubShape(*header.entry_result, alias.output);
  return from != nullptr && to != nullptr && *from == *to;
}

void CheckAliases(Findings& findings) {
  const Module& module = findings.module();
  const Computation& entry = module.entry();
  std::set<std::pair<int64_t, ShapeIndex>> used;
  const auto is_used = [&](int64_t parameter, const ShapeIndex& index) { return used.contains({parameter, index}); };
  for (const InputOutputAlias& alias : module.header.aliases) {
    const Shape* input = ParameterArray(entry, alias.parameter, alias.parameter_index);
    const Shape* output = FindSubShape(entry.root().shape(), alias.output);
    const auto add = [&](const char* code, const std::string& message) {
      findings.Add(ErrorInHeader(module, code, "input_output_alias",
                                 Str("input_output_alias ", Braced(alias.output), ": (", alias.parameter, ", ",
                                     Braced(alias.parameter_index), ") ", message)));
    };
    if (input == nullptr || output == nullptr || !output->IsArray()) {
      add("V263", "names no array of the entry computation");
      continue;
    }
    if (is_used(alias.parameter, alias.parameter_index))
      add("V263", "donates a parameter that another alias donates too");
    if (findings.strict() && input->ByteSize() != output->ByteSize())
      add("V263",
          Str("joins ", input->ByteSize(), " bytes (", *input, ") with ", output->ByteSize(), " (", *output, ")"));
    used.emplace(alias.parameter, alias.parameter_index);
    if (alias.must && !MustAliasFits(module, alias, *input, *output)) {
      add("V264", Str("must alias, but the parameter is ", *input, " and the output is ", *output,
                      Compatible(*input, *output) ? ", with another layout" : ""));
    }
  }
  for (const BufferDonor& donor : module.header.donors) {
    const auto add = [&](const std::string& message) {
      findings.Add(
          ErrorInHeader(module, "V265", "buffer_donor",
                        Str("buffer_donor (", donor.parameter, ", ", Braced(donor.parameter_index), ") ", message)));
    };
    if (ParameterArray(entry, donor.parameter, donor.parameter_index) == nullptr) {
      add("names no array of the entry computation");
    } else if (is_used(donor.parameter, donor.parameter_index)) {
      add("is in input_output_alias too");
    }
  }
}

}  // namespace

Error ErrorInHeader(const Module& module, const char* code, std::string_view name, std::string message) {
  // Searches the text, because the module keeps no places of header attributes.
  SourceRange range;
  if (module.source != nullptr) {
    const size_t at = module.source->text().rfind(Str(name, "="), module.entry().range.begin);
    if (at != std::string_view::npos) range = {static_cast<uint32_t>(at), static_cast<uint32_t>(at + name.size())};
  }
  return Rejected(code, std::move(message), range);
}

void CheckHeader(Findings& findings) {
  CheckEntryLayout(findings);
  CheckAliases(findings);
}

}  // namespace hlo
