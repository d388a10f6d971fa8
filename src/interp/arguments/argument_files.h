// Arguments from files of arrays, results into them: which key is whose: docs/arguments.md#files.
#ifndef HLO_INTERP_ARGUMENTS_ARGUMENT_FILES_H_
#define HLO_INTERP_ARGUMENTS_ARGUMENT_FILES_H_

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "interp/arguments/npz.h"
#include "ir/literal.h"

namespace hlo {

class Instruction;
class Module;

// A literal for each parameter of the entry. Keys: argN (argN.i.j for leaves of tuples) when every parameter has one;
// else the parameters' names; else N; else arr_N in the order of the file. The only parameter may come from a .npy.
// Parameters in `given`, by number, have their values from elsewhere: they need not be there, and are left empty.
// Errors: [A003] a parameter without a key, [A004] another shape or type.
Result<std::vector<Literal>> ReadArguments(const std::string& path, const Module& module,
                                           CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {});

// The meaning of the arrays of a file for a partitioned module, whose parameters are the parts that a partition holds.
// Arrays for one device are always parts.
enum class ArgsAre : uint8_t {
  kAuto,   // Parts where they have the parameter's shape, else whole.
  kParts,  // Each device gets them as they are.
  kWhole,  // Each device gets its part, where the parameter's sharding cuts the array.
};
std::optional<ArgsAre> ArgsAreFromText(std::string_view text);  // "auto", "parts", "whole"

struct DeviceArguments {
  std::vector<std::vector<Literal>> by_device;
  bool were_cut = false;  // Some were whole arrays.
};
// Arguments for each device of a module that runs on several. The key "rR.KEY" is for the devices of replica R alone,
// the key "rR.pP.KEY" for one device. Whole arrays are cut as the sharding of the parameter says. `most_devices` limits
// the number of devices: only the first ones get arguments, and arrays of the others may be missing.
Result<DeviceArguments> ReadArgumentsByDevice(const std::string& path, const Module& module,
                                              CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {},
                                              ArgsAre are = ArgsAre::kAuto,
                                              int64_t most_devices = std::numeric_limits<int64_t>::max());

// "r1.x": 1, -1, "x"; "r1.p0.x": 1, 0, "x"; null without such a prefix.
struct OfDevice {
  int64_t replica, partition;  // -1: of all partitions.
  std::string_view key;
};
std::optional<OfDevice> SplitDevicePrefix(std::string_view key);
// Error [A005] for numbers that the module does not have.
Status CheckDevice(const OfDevice& of, const Module& module, std::string_view where);

// "x.npy", "x.npz:KEY", "x.npz" of one array, or "@x.bin": raw bytes, row-major, little-endian, a byte an element for
// types of less. Whether a text is one of these, and the tensor as a value of the parameter, which is no tuple.
bool NamesTensor(std::string_view text);
Result<Literal> ReadTensor(const std::string& text, const Instruction& parameter, CastArgs cast = CastArgs::kNever);

// Value `number` of an infeed: the array inN, of tuples inN.i.j; or outN, as an outfeed leaves it. Errors: [R007] no
// such key, [A004].
Result<Literal> ReadFed(const NpzArrays& arrays, const std::string& path, int64_t number, const Shape& shape,
                        const std::string& wanted_by);

// Leaves as `prefix0`, `prefix1` ... of `values`; those of tuples `prefix0.1.2`. A file appears whole or not at all
// ([A011]).
Status WriteNpz(const std::string& path, std::string_view prefix, std::span<const Literal> values);
// The elements of a tuple, or the one value that is none, as outN.
Status WriteOutputs(const std::string& path, const Literal& result);
// Of all devices of a module: under prefixes, as ReadArgumentsByDevice has them.
Status WriteOutputsByDevice(const std::string& path, std::span<const Literal> results, int64_t partitions);
// What is the same on all devices stands there once, without a prefix.
Status WriteArgumentsByDevice(const std::string& path, std::span<const std::vector<Literal>> args, int64_t partitions);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_ARGUMENT_FILES_H_
