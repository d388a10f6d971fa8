#include "driver/xml.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hlo {

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string SvgText(double x, double y, std::string_view attributes, std::string_view text, int digits) {
  return Str(Format("<text x=\"%.*f\" y=\"%.*f\" ", digits, x, digits, y), attributes, ">", XmlText(text), "</text>\n");
}

std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view attributes, int digits) {
  return Str(
      Format("<line x1=\"%.*f\" y1=\"%.*f\" x2=\"%.*f\" y2=\"%.*f\" ", digits, x1, digits, y1, digits, x2, digits, y2),
      attributes, "/>\n");
}

double AxisStep(double range, int most) {
  const double rough = std::max(range, 1e-12) / most, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace hlo
