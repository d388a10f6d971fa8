// Reads and writes arguments and results in array files. Assignment of keys: docs/arguments.md#files.
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

// Reads arguments. Keys are argN (argN.i.j for leaves of tuples) if each parameter has one, else parameter names, else
// N, else arr_N in the order of the file. A .npy can provide the only parameter. Parameters in `given` get empty
// literals. Errors: A003 for a parameter without a key, A004 for another shape or type.
Result<std::vector<Literal>> ReadArguments(const std::string& path, const Module& module,
                                           CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {});

// Whether arrays in a file are parts, like the parameters of a partitioned module. An array with a key for one device
// always is a part.
enum class ArgsAre : uint8_t {
  kAuto,  // Parts if they have the parameter's shape, else whole.
  kParts,
  kWhole,  // Devices get parts according to the parameter's sharding.
};
template <>
struct EnumWords<ArgsAre> {
  static constexpr std::string_view kWords[] = {"auto", "parts", "whole"};
};

struct DeviceArguments {
  std::vector<std::vector<Literal>> by_device;
  bool were_cut = false;
  // An array was cut, or by the shardings each partition holds all arrays whole.
  bool are_whole = false;
  // Keys of arrays for all devices that were not cut although their shardings split the parameters.
  std::vector<std::string> parts;
};
// The key "rR.KEY" is for all devices of replica R, and "rR.pP.KEY" for one device. Only the first `most_devices`
// devices get arguments. Errors: as ReadArguments, A005 and A028.
Result<DeviceArguments> ReadArgumentsByDevice(const std::string& path, const Module& module,
                                              CastArgs cast = CastArgs::kNever, const std::set<int64_t>& given = {},
                                              ArgsAre are = ArgsAre::kAuto,
                                              int64_t most_devices = std::numeric_limits<int64_t>::max());

// "r1.x" gives 1, -1, "x", and "r1.p0.x" gives 1, 0, "x".
struct OfDevice {
  int64_t replica, partition;  // -1 for all partitions.
  std::string_view key;
};
std::optional<OfDevice> SplitDevicePrefix(std::string_view key);
// Error: A005 for a device outside the module.
Status CheckDevice(const OfDevice& of, const Module& module, std::string_view where);

// Whether `text` names a tensor: "x.npy", "x.npz:KEY", "x.npz" with one array, or "@x.bin" with raw bytes (row-major,
// little-endian, one byte for each element of sub-byte types). Errors of ReadTensor: A002 for an unreadable file, A003
// for a missing key, A004 for another shape or type, or if `parameter` is a tuple.
bool NamesTensor(std::string_view text);
Result<Literal> ReadTensor(const std::string& text, const Instruction& parameter, CastArgs cast = CastArgs::kNever);

// Reads infeed value `number` (N). Its key is inN, or outN in a file of outfeed values, with .i.j for tuples. Errors:
// R007 for a missing key, and A004.
Result<Literal> ReadFed(const NpzArrays& arrays, const std::string& path, int64_t number, const Shape& shape,
                        const std::string& wanted_by);

// Writes keys `prefix0` and so on, and `prefix0.1.2` for leaves of tuples. Error: A011.
Status WriteNpz(const std::string& path, std::string_view prefix, std::span<const Literal> values);
Status WriteOutputs(const std::string& path, const Literal& result);
// Writes keys with the prefixes of ReadArgumentsByDevice.
Status WriteOutputsByDevice(const std::string& path, std::span<const Literal> results, int64_t partitions);
// Values that are equal on all devices are written once, without a prefix.
Status WriteArgumentsByDevice(const std::string& path, std::span<const std::vector<Literal>> args, int64_t partitions);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_ARGUMENT_FILES_H_
