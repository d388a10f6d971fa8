// What may be said of a pass where it stands in a pipeline: `fusion{instructions=128}`. A struct for each pass that has
// options; its fields are declared once, and reading, checking and listing follow.
#ifndef HLO_PASSES_OPTIONS_H_
#define HLO_PASSES_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ir/primitive_type.h"

namespace hlo {

template <class Struct, class T>
struct OptionField {
  std::string_view name;
  T Struct::* member;  // int64_t, at least 0, bool, or a type of elements.
  std::string_view what;
};
template <class Struct, class T>
constexpr OptionField<Struct, T> Option(std::string_view name, T Struct::* member, std::string_view what) {
  return {name, member, what};
}

struct NoPassOptions {
  static constexpr auto Fields() { return std::tuple(); }
};

struct InliningOptions {
  int64_t instructions = 1'000'000;
  static constexpr auto Fields() {
    return std::tuple(Option("instructions", &InliningOptions::instructions,
                             "copied at most; what calls of calls would make beyond that stays a call"));
  }
};

struct FoldingOptions {
  int64_t result_elements = 4096;
  int64_t operand_elements = 1 << 20;
  static constexpr auto Fields() {
    return std::tuple(
        Option("result_elements", &FoldingOptions::result_elements, "of the largest result written into the module"),
        Option("operand_elements", &FoldingOptions::operand_elements, "of the largest operand"));
  }
};

struct SharingOptions {
  bool fusions_only = false;
  static constexpr auto Fields() {
    return std::tuple(Option("fusions_only", &SharingOptions::fusions_only, "only within fused computations"));
  }
};

struct FusionOptions {
  int64_t instructions = 256;
  int64_t parameters = 96;
  static constexpr auto Fields() {
    return std::tuple(Option("instructions", &FusionOptions::instructions, "of one kernel, at most"),
                      Option("parameters", &FusionOptions::parameters, "of one kernel, operands and results, at most"));
  }
};

struct MotionOptions {
  bool inflating = false;
  static constexpr auto Fields() {
    return std::tuple(
        Option("inflating", &MotionOptions::inflating, "also what is cheap, and larger than all that it is made of"));
  }
};

// The limits are XLA's.
struct UnrollingOptions {
  int64_t trips = 64;
  int64_t instructions = 800;
  int64_t copies = 10'000;
  int64_t module_copies = 100'000;
  bool one_kernel = false;
  static constexpr auto Fields() {
    return std::tuple(Option("trips", &UnrollingOptions::trips, "of one loop, at most"),
                      Option("instructions", &UnrollingOptions::instructions, "of one body, at most"),
                      Option("copies", &UnrollingOptions::copies, "of instructions that one loop becomes, at most"),
                      Option("module_copies", &UnrollingOptions::module_copies, "that all loops become, at most"),
                      Option("one_kernel", &UnrollingOptions::one_kernel, "only what can become one kernel"));
  }
};

struct ExpansionOptions {
  bool simple_only = false;
  static constexpr auto Fields() {
    return std::tuple(Option("simple_only", &ExpansionOptions::simple_only, "only where there is one index"));
  }
};

struct SplittingOptions {
  int64_t operands = 128;
  static constexpr auto Fields() {
    return std::tuple(Option("operands", &SplittingOptions::operands, "of one concatenate, at most; at least 2"));
  }
};

struct DotMergingOptions {
  int64_t max_bytes = 16 << 20;
  static constexpr auto Fields() {
    return std::tuple(
        Option("max_bytes", &DotMergingOptions::max_bytes, "operands and result of the smaller of two dots, at most"));
  }
};

struct NormalizationOptions {
  bool dots = true;
  static constexpr auto Fields() {
    return std::tuple(Option("dots", &NormalizationOptions::dots, "too; else they stay as they are"));
  }
};

struct GemmPaddingOptions {
  PrimitiveType type = PrimitiveType::kF16;
  int64_t multiple = 8;
  static constexpr auto Fields() {
    return std::tuple(Option("type", &GemmPaddingOptions::type, "of both operands"),
                      Option("multiple", &GemmPaddingOptions::multiple, "that rows and columns become"));
  }
};

struct CombiningOptions {
  int64_t max_bytes = 30 << 20;
  int64_t max_operands = 256;
  static constexpr auto Fields() {
    return std::tuple(Option("max_bytes", &CombiningOptions::max_bytes, "of the results of one collective, at most"),
                      Option("max_operands", &CombiningOptions::max_operands, "of one collective, at most"));
  }
};

using PassOptions = std::variant<NoPassOptions, InliningOptions, FoldingOptions, SharingOptions, MotionOptions,
                                 UnrollingOptions, ExpansionOptions, FusionOptions, SplittingOptions, DotMergingOptions,
                                 GemmPaddingOptions, NormalizationOptions, CombiningOptions>;

// Name, value and meaning of each field.
struct OptionText {
  std::string_view name;
  std::string value;
  std::string_view what;
};
std::vector<OptionText> Describe(const PassOptions& options);

// Errors are usage errors without a place, and suggest the nearest name: no such option, a value that it does not take.
Status SetOption(std::string_view pass, std::string_view name, std::string_view value, PassOptions* options);

}  // namespace hlo

#endif  // HLO_PASSES_OPTIONS_H_
