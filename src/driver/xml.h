// Escapes text for SVG and HTML.
#ifndef HLO_DRIVER_XML_H_
#define HLO_DRIVER_XML_H_

#include <string>
#include <string_view>

namespace hlo {

// Escapes contents and attribute values in double quotes. Control characters, which XML lacks, become spaces, except
// line breaks and tabs.
std::string XmlText(std::string_view text);

}  // namespace hlo

#endif  // HLO_DRIVER_XML_H_
