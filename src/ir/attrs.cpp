#include "ir/attrs.h"

namespace hlo {

Attributes::Attributes(const Attributes& other) : kind_(other.kind_), value_(nullptr) {
  if (other.value_ != nullptr) value_ = Visit(other, []<class A>(const A& attrs) -> void* { return new A(attrs); });
}

void Attributes::Destroy() {
  Visit(*this, []<class A>(A& attrs) { delete &attrs; });
}

}  // namespace hlo
