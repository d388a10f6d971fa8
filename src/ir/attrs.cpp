#include "ir/attrs.h"

#include <algorithm>

namespace hlo {

Attributes::Attributes(const Attributes& other) : kind_(other.kind_), in_place_(other.in_place_) {
  if (in_place_) std::copy(std::begin(other.place_), std::end(other.place_), place_);
  else heap_ = Visit(other, []<class A>(const A& attrs) -> void* { return new A(attrs); });
}

void Attributes::Destroy() {
  Visit(*this, []<class A>(A& attrs) { delete &attrs; });
}

}  // namespace hlo
