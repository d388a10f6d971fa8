// A struct of attributes lists its fields once; parsing, printing, comparing, hashing and cloning follow from the list.
//
//   struct ReduceAttrs {
//     std::vector<int64_t> dimensions;
//     Computation* to_apply = nullptr;
//     static constexpr auto Fields() {
//       return std::tuple(Required("dimensions", &ReduceAttrs::dimensions), Required("to_apply",
//       &ReduceAttrs::to_apply));
//     }
//   };
//
// The order is the order of printing (spec/hlo-text.md 14.4).
#ifndef HLO_IR_FIELDS_H_
#define HLO_IR_FIELDS_H_

#include <tuple>

namespace hlo {

enum class Presence : unsigned char {
  kRequired,  // Must be written; always printed.
  kOptional,  // Printed when it differs from the struct's default.
  kAlways,    // May be left out in the text; always printed.
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

// f(field) for each field of the struct, in order.
template <class Struct, class F>
constexpr void ForEachField(F&& f) {
  std::apply([&](const auto&... field) { (f(field), ...); }, Struct::Fields());
}

}  // namespace hlo

#endif  // HLO_IR_FIELDS_H_
