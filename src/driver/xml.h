// Text in SVG and HTML.
#ifndef HLO_DRIVER_XML_H_
#define HLO_DRIVER_XML_H_

#include <string>
#include <string_view>

namespace hlo {

// As content or as the value of an attribute in double quotes. Control characters, which XML has no way to write,
// become spaces; line ends and tabs stay.
std::string XmlText(std::string_view text);

}  // namespace hlo

#endif  // HLO_DRIVER_XML_H_
