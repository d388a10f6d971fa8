#include "ir/attrs.h"

namespace hlo {

Attributes::Attributes(const Attributes& other) : kind_(other.kind_), value_(nullptr) {
  value_ = Visit(other, []<class A>(const A& attrs) -> void* { return new A(attrs); });
}

Attributes::~Attributes() {
  if (value_ != nullptr) Visit(*this, []<class A>(A& attrs) { delete &attrs; });
}

}  // namespace hlo
