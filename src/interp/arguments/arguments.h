// Generates arguments that suit a module: indices are in range, loops end, divisors are away from 0, and sums stay
// finite. See docs/arguments.md.
//
// An element depends only on the seed, its parameter, leaf and index, and the number of elements.
#ifndef HLO_INTERP_ARGUMENTS_ARGUMENTS_H_
#define HLO_INTERP_ARGUMENTS_ARGUMENTS_H_

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "interp/arguments/npy.h"
#include "ir/literal.h"

namespace hlo {

class Module;

enum class InputProfile : uint8_t {
  kNormal,       // Uniform on [-1, 1) times a scale, with distinct keys of topk and of stable sorts.
  kExact,        // Nonzero small integers: any order of a sum has the same bits, and a dropped term shows.
  kFingerprint,  // Distinct integers: permutations and wrong indices show.
  kWide,         // All binades are equally frequent.
  kSpecial,      // Normal with 2 % each of NaN, infinities, zeros, subnormals, largest and smallest normals.
  kEdge,         // Normal with random initial values of reductions, and 10 % of the indices out of range unless the op
                 // forbids it.
  kTies,         // Normal, but 30 % of the keys of sorts and arg-reductions equal their neighbour.
  kCancel,       // Pairs x, -x + a small number along summed dimensions: ill-conditioned sums.
  kLong,         // Normal with up to 1000 loop trips.
  kXla,          // Uniform on [-0.1, 0.2), as in XLA's runner.
  kOnes,
  kZeros,
  kIota,  // The row-major index.
};
template <>
struct EnumWords<InputProfile> {
  static constexpr std::string_view kWords[] = {"normal", "exact", "fingerprint", "wide", "special", "edge", "ties",
                                                "cancel", "long",  "xla",         "ones", "zeros",   "iota"};
};

struct ArgumentSpec {
  std::string which;
  std::string spec;
};

struct ArgumentOptions {
  uint64_t seed = 0;
  int64_t replica = 0;  // For the generator replica_id.
  InputProfile profile = InputProfile::kNormal;
  CastArgs cast = CastArgs::kNever;
  bool constrain = true;                           // --constrain_inputs
  int64_t exact_bound = 8;                         // For the profile `exact`.
  std::optional<std::pair<double, double>> range;  // --arg_range, for floats in any profile.
  std::vector<ArgumentSpec> specs;
  std::function<Result<Literal>(const Shape&, std::string_view)> parse_literal;
  // Runs the reference, to check whether results are finite. May be null.
  std::function<Result<Literal>(std::span<const Literal>)> interpret;
  int max_tries = 8;  // Most halvings of `scale` while results are not finite.
};

struct Arguments {
  std::vector<Literal> values;
  std::optional<Literal> reference;
  double non_finite_share = 0;
  double scale = 1;
  int tries = 1;
  std::vector<std::string> notes;
};

// Returns the given values by parameter number. Errors: A005 for an unknown or repeated parameter, and errors of
// MakeLiteral and ReadTensor.
Result<std::map<int64_t, Literal>> GivenArguments(const Module& module, const ArgumentOptions& options);

// Halves the scale of floats while too many results of options.interpret are not finite.
Result<Arguments> MakeArgumentsChecked(const Module& module, const ArgumentOptions& options);
Result<std::vector<Literal>> MakeArguments(const Module& module, const ArgumentOptions& options = {});

// Makes a value from a generator or literal: "zeros", "uniform(0,1)", "{1,2}". `parameter` and `leaf` select the random
// numbers. Error: A006.
Result<Literal> MakeLiteral(const Shape& shape, std::string_view spec, uint64_t seed, int64_t parameter, int64_t leaf,
                            const ArgumentOptions& options);

// Values for `constant({...})`, generated like arguments.
struct ElidedFill {
  InputProfile profile = InputProfile::kNormal;  // One of kNormal, kIota and kZeros.
  uint64_t seed = 0;
  int64_t memory_limit = 0;  // Bytes, for all constants together.
};

// Returns the number of elided constants. Error: P093, at the largest one, if together they exceed the limit.
Result<int64_t> FillElidedConstants(Module& module, const ElidedFill& fill);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_ARGUMENTS_H_
