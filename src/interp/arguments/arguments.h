// Arguments for a module: seeded, independent of layout, threads, platform and of one another, and such that the
// program means something: indices in range, loops that end, divisors away from 0, sums that stay finite:
// docs/arguments.md.
//
// An element hangs on the seed, the numbers of its parameter and leaf, its own, and the number of elements: on nothing
// that another run, machine or neighbour could change.
#ifndef HLO_INTERP_ARGUMENTS_ARGUMENTS_H_
#define HLO_INTERP_ARGUMENTS_ARGUMENTS_H_

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/arguments/npy.h"
#include "ir/literal.h"

namespace hlo {

class Module;

enum class InputProfile : uint8_t {
  kNormal,       // Uniform on [-1, 1) times a scale that suits the uses; keys of sorts are distinct.
  kExact,        // Small integers, none 0: any order of summation gives the same bits, and a dropped term shows.
  kFingerprint,  // Distinct integers: permutations and index errors show.
  kWide,         // Magnitudes over the type's range, each binade as often.
  kSpecial,      // Normal, with 2 % each of NaN, infinities, zeros, subnormals, largest, smallest.
  kEdge,         // Normal, with 10 % of the indices out of range, unless the op is promised otherwise.
  kTies,         // Normal, with 30 % of the keys of sorts and arg-reductions like their neighbour's.
  kCancel,       // Pairs x, -x + a little along what is summed: ill-conditioned sums.
  kLong,         // Normal, with up to 1000 loop trips.
  kXla,          // Uniform on [-0.1, 0.2), as XLA's runner has it.
  kOnes,
  kZeros,
  kIota,  // The row-major index.
};
std::span<const std::string_view> InputProfileNames();
std::optional<InputProfile> InputProfileFromText(std::string_view text);
std::string_view ToString(InputProfile profile);

// --arg=WHICH=SPEC.
struct ArgumentSpec {
  std::string which;  // Number or name of the parameter.
  std::string
      spec;  // replica_id, zeros, ones, iota, special, uniform(a,b), normal(m,s), randint(a,b), a file, or a literal.
};

struct ArgumentOptions {
  uint64_t seed = 0;
  int64_t replica = 0;  // What the generator replica_id gives.
  InputProfile profile = InputProfile::kNormal;
  CastArgs cast = CastArgs::kNever;                // Of arrays in files.
  bool constrain = true;                           // --constrain_inputs
  int64_t exact_bound = 8;                         // The largest number of profile `exact`.
  std::optional<std::pair<double, double>> range;  // --arg_range: of random floats, whatever the profile.
  std::vector<ArgumentSpec> specs;
  // Reads a literal of a shape; null: literals are refused.
  std::function<Result<Literal>(const Shape&, std::string_view)> parse_literal;
  // Runs the reference once, to see whether the results are finite; null: they are not looked at.
  std::function<Result<Literal>(std::span<const Literal>)> interpret;
  int max_tries = 8;
};

struct Arguments {
  std::vector<Literal> values;       // By parameter.
  std::optional<Literal> reference;  // What `interpret` gave for them.
  double non_finite_share = 0;       // Of the float elements of the reference.
  double scale = 1;                  // What the floats were tightened by.
  int tries = 1;
  std::vector<std::string> notes;  // Conflicts, tightenings, constant outputs: for the report.
};

// The values that `options.specs` give, by parameter number. Errors: [A005] no such parameter, or one named twice;
// those of MakeLiteral and ReadTensor.
Result<std::map<int64_t, Literal>> GivenArguments(const Module& module, const ArgumentOptions& options);

Result<Arguments> MakeArgumentsChecked(const Module& module, const ArgumentOptions& options);
Result<std::vector<Literal>> MakeArguments(const Module& module, const ArgumentOptions& options = {});

// One literal as a SPEC that is no file says; `parameter` and `leaf` key the random numbers.
Result<Literal> MakeLiteral(const Shape& shape, std::string_view spec, uint64_t seed, int64_t parameter, int64_t leaf,
                            const ArgumentOptions& options);

// What the elements of `constant({...})` become: made up as those of parameters are, in range for what they index
// (kNormal), or 0, 1, 2, ... or zeros as they stand.
struct ElidedFill {
  InputProfile profile = InputProfile::kNormal;  // kNormal, kIota, kZeros.
  uint64_t seed = 0;
  int64_t memory_limit = 0;  // Of their bytes together.
};

// Gives every elided constant of the module a value; how many there were. Errors: [P093] at the largest, when they take
// more than the limit.
Result<int64_t> FillElidedConstants(Module& module, const ElidedFill& fill);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_ARGUMENTS_H_
