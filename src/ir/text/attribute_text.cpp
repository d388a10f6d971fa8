#include "ir/text/attribute_text.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

void AppendShaped(std::string& out, const Literal& literal) {
  if (!literal.shape().IsTuple()) {
    out += Str(literal.shape().ToStringWithLayout(), " ", Print(literal));
    return;
  }
  out += "( ";
  for (size_t i = 0; i < literal.elements().size(); ++i) {
    if (i > 0) out += ", ";
    AppendShaped(out, literal.elements()[i]);
  }
  out += " )";
}

}  // namespace

void AppendValue(std::string& out, const SparsePattern& pattern) {
  out += Str(pattern.non_zeros, "x", pattern.block_size);
}

void AppendValue(std::string& out, const OneDimension& dimension) { out += Str("{", dimension.value, "}"); }

void AppendValue(std::string& out, const Window& window) {
  const auto item = [&](const char* name, auto&& is_default, auto&& text) {
    if (std::all_of(window.dims.begin(), window.dims.end(), is_default)) return;
    out += name;
    for (size_t i = 0; i < window.dims.size(); ++i) {
      if (i > 0) out += 'x';
      out += text(window.dims[i]);
    }
  };
  out += '{';
  if (!window.dims.empty()) {
    item("size=", [](const WindowDim&) { return false; }, [](const WindowDim& d) { return Str(d.size); });
  }
  item(" stride=", [](const WindowDim& d) { return d.stride == 1; }, [](const WindowDim& d) { return Str(d.stride); });
  item(
      " pad=", [](const WindowDim& d) { return d.pad_low == 0 && d.pad_high == 0; },
      [](const WindowDim& d) { return Str(d.pad_low, "_", d.pad_high); });
  item(
      " lhs_dilate=", [](const WindowDim& d) { return d.base_dilation == 1; },
      [](const WindowDim& d) { return Str(d.base_dilation); });
  item(
      " rhs_dilate=", [](const WindowDim& d) { return d.window_dilation == 1; },
      [](const WindowDim& d) { return Str(d.window_dilation); });
  item(
      " rhs_reversal=", [](const WindowDim& d) { return !d.reversed; },
      [](const WindowDim& d) { return Str(d.reversed ? 1 : 0); });
  out += '}';
}

void AppendValue(std::string& out, const DimLabels& labels) {
  const auto word = [&](char first, int64_t first_at, char second, int64_t second_at,
                        const std::vector<int64_t>& spatial) {
    int64_t last = std::max(first_at, second_at);
    for (const int64_t at : spatial) last = std::max(last, at);
    std::string text(last + 1, '?');
    text[first_at] = first;
    text[second_at] = second;
    for (size_t i = 0; i < spatial.size(); ++i) text[spatial[i]] = static_cast<char>('0' + i);
    out += text;
  };
  word('b', labels.lhs_batch, 'f', labels.lhs_feature, labels.lhs_spatial);
  out += '_';
  word('i', labels.rhs_input_feature, 'o', labels.rhs_output_feature, labels.rhs_spatial);
  out += "->";
  word('b', labels.out_batch, 'f', labels.out_feature, labels.out_spatial);
}

void AppendValue(std::string& out, const PaddingConfig& padding) {
  const bool interior =
      std::any_of(padding.dims.begin(), padding.dims.end(), [](const PaddingDim& d) { return d.interior != 0; });
  for (size_t i = 0; i < padding.dims.size(); ++i) {
    const PaddingDim& dim = padding.dims[i];
    out += Str(i > 0 ? "x" : "", dim.low, "_", dim.high);
    if (interior) out += Str("_", dim.interior);
  }
}

void AppendValue(std::string& out, const SliceRanges& slice) {
  const bool strides =
      std::any_of(slice.dims.begin(), slice.dims.end(), [](const SliceDim& d) { return d.stride != 1; });
  out += '{';
  for (size_t i = 0; i < slice.dims.size(); ++i) {
    const SliceDim& dim = slice.dims[i];
    out += Str(i > 0 ? ", " : "", "[", dim.start, ":", dim.limit);
    if (strides) out += Str(":", dim.stride);
    out += ']';
  }
  out += '}';
}

void AppendValue(std::string& out, const OperandAliases& aliases) {
  out += '{';
  for (size_t i = 0; i < aliases.size(); ++i) {
    const OperandAlias& alias = aliases[i];
    out += Str(i > 0 ? ", " : "", "{", Join(alias.output, ", "), "}: (", alias.operand, ", {",
               Join(alias.operand_index, ", "), "})");
  }
  out += '}';
}

void AppendValue(std::string& out, const Shape& shape) { out += shape.ToStringWithLayout(); }

void AppendValue(std::string& out, const ShapeList& list) {
  std::vector<std::string> texts;
  for (const Shape& shape : list.shapes) texts.push_back(shape.ToStringWithLayout());
  out += Str("{", Join(texts, ", "), "}");
}

void AppendValue(std::string& out, const LiteralValue& literal) { AppendShaped(out, *literal.value); }

}  // namespace hlo
