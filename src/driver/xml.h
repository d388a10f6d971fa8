// Escapes text for SVG and HTML, and writes shapes of charts.
#ifndef HLO_DRIVER_XML_H_
#define HLO_DRIVER_XML_H_

#include <string>
#include <string_view>

namespace hlo {

// Escapes contents and attribute values in double quotes. Control characters, which XML lacks, become spaces, except
// line breaks and tabs.
std::string XmlText(std::string_view text);

// Coordinates have `digits` digits after the point.
std::string SvgText(double x, double y, std::string_view attributes, std::string_view text, int digits);
std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view attributes, int digits);
// The distance of at most about `most` marks on an axis: 1, 2 or 5 times a power of ten.
double AxisStep(double range, int most);

}  // namespace hlo

#endif  // HLO_DRIVER_XML_H_
