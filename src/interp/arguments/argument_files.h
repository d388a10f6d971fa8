// Reads arguments from array files and writes results to them. The assignment of keys: docs/arguments.md#files.
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

// A literal for each parameter of the entry. Keys are argN (argN.i.j for leaves of tuples) if every parameter has one,
// otherwise parameter names, otherwise N, otherwise arr_N in the order of the file. A .npy can provide the only
// parameter. Parameters in `given` get their values elsewhere and are left empty. Errors: A003 for a parameter without
// a key, A004 for another shape or type.
Result<std::vector<Literal>> ReadArguments(const std::string& path, const Module& module,
                                           CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {});

// The meaning of the arrays of a file for a partitioned module, whose parameters are the parts of one partition. Arrays
// for one device are always parts.
enum class ArgsAre : uint8_t {
  kAuto,   // Parts if they have the parameter's shape, else whole.
  kParts,  // Each device gets the array unchanged.
  kWhole,  // Each device gets its part according to the parameter's sharding.
};
std::optional<ArgsAre> ArgsAreFromText(std::string_view text);  // "auto", "parts", "whole"

struct DeviceArguments {
  std::vector<std::vector<Literal>> by_device;
  bool were_cut = false;  // Some arrays were whole and were cut.
};
// Arguments for each device. The key "rR.KEY" is for all devices of replica R, and "rR.pP.KEY" for one device. Whole
// arrays are cut according to the sharding of the parameter. Only the first `most_devices` devices get arguments, and
// arrays of the others may be missing.
Result<DeviceArguments> ReadArgumentsByDevice(const std::string& path, const Module& module,
                                              CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {},
                                              ArgsAre are = ArgsAre::kAuto,
                                              int64_t most_devices = std::numeric_limits<int64_t>::max());

// "r1.x" gives 1, -1, "x", and "r1.p0.x" gives 1, 0, "x". nullopt without such a prefix.
struct OfDevice {
  int64_t replica, partition;  // -1 for all partitions.
  std::string_view key;
};
std::optional<OfDevice> SplitDevicePrefix(std::string_view key);
// Error: A005 for numbers that the module does not have.
Status CheckDevice(const OfDevice& of, const Module& module, std::string_view where);

// Whether a text names a tensor: "x.npy", "x.npz:KEY", "x.npz" with one array, or "@x.bin" with raw bytes (row-major,
// little-endian, one byte for each element of sub-byte types). ReadTensor reads it as the value of `parameter`, which
// must not be a tuple.
bool NamesTensor(std::string_view text);
Result<Literal> ReadTensor(const std::string& text, const Instruction& parameter, CastArgs cast = CastArgs::kNever);

// Value `number` of an infeed: the array inN, or inN.i.j for tuples. Also outN, as written for an outfeed. Errors: R007
// for a missing key, and A004.
Result<Literal> ReadFed(const NpzArrays& arrays, const std::string& path, int64_t number, const Shape& shape,
                        const std::string& wanted_by);

// Writes `values` under the keys `prefix0`, `prefix1`, ..., and leaves of tuples under `prefix0.1.2`. The file is
// written completely or not at all (A011).
Status WriteNpz(const std::string& path, std::string_view prefix, std::span<const Literal> values);
// Writes the elements of a tuple, or another value, as outN.
Status WriteOutputs(const std::string& path, const Literal& result);
// Writes the results of all devices, with the prefixes of ReadArgumentsByDevice.
Status WriteOutputsByDevice(const std::string& path, std::span<const Literal> results, int64_t partitions);
// Values that are equal on all devices are written once, without a prefix.
Status WriteArgumentsByDevice(const std::string& path, std::span<const std::vector<Literal>> args, int64_t partitions);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_ARGUMENT_FILES_H_
