// A struct of attributes lists its fields once, for parsing, printing, comparing, hashing and cloning. They are printed
// in this order.
#ifndef HLO_IR_FIELDS_H_
#define HLO_IR_FIELDS_H_

#include <cstddef>

namespace hlo {

enum class Presence : unsigned char {
  kRequired,  // Must be written, and is always printed.
  kOptional,  // Printed if it differs from the default.
  kAlways,    // May be omitted, and is always printed.
};

template <class Struct, class T>
struct Field {
  const char* name;
  T Struct::* member;
  Presence presence;
};

template <class Struct, class T>
constexpr Field<Struct, T> Required(const char* name, T Struct::* member) {
  return {name, member, Presence::kRequired};
}
template <class Struct, class T>
constexpr Field<Struct, T> Optional(const char* name, T Struct::* member) {
  return {name, member, Presence::kOptional};
}
template <class Struct, class T>
constexpr Field<Struct, T> Always(const char* name, T Struct::* member) {
  return {name, member, Presence::kAlways};
}

// Compiles much faster than a std::tuple.
template <class... Fields>
struct FieldList {
  static constexpr size_t kSize = 0;
  template <class F>
  constexpr void ForEach(F&) const {}
};

template <class First, class... Rest>
struct FieldList<First, Rest...> {
  static constexpr size_t kSize = 1 + sizeof...(Rest);
  First first;
  FieldList<Rest...> rest;

  constexpr explicit FieldList(First first, Rest... rest) : first(first), rest(rest...) {}

  template <class F>
  constexpr void ForEach(F& f) const {
    f(first);
    rest.ForEach(f);
  }
  template <size_t I>
  constexpr auto Get() const {
    if constexpr (I == 0) return first;
    else return rest.template Get<I - 1>();
  }
};
template <class... Fields>
FieldList(Fields...) -> FieldList<Fields...>;

template <class Struct, class F>
constexpr void ForEachField(F&& f) {
  Struct::Fields().ForEach(f);
}

}  // namespace hlo

#endif  // HLO_IR_FIELDS_H_
