// The values of sharding=, domain= and replica_groups=, in XLA's normal form. Equal shardings compare equal and print
// alike. Text: docs/language.md#sharding. The verifier checks shardings (V255-V258).
#ifndef HLO_IR_SHARDING_H_
#define HLO_IR_SHARDING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "ir/metadata.h"

namespace hlo {

// An order of devices: a list, or the numbers 0, 1, ... reshaped to `dims`, permuted (dimension i of the result is
// `permutation[i]`) and flattened.
struct DeviceOrder {
  std::vector<int64_t> listed;  // Empty for a formula.
  std::vector<int64_t> dims;    // Without sizes of 1. Dimensions that stay adjacent are merged.
  std::vector<int64_t> permutation;

  bool IsFormula() const { return listed.empty(); }
  bool IsCounting() const { return listed.empty() && dims.size() <= 1; }  // 0, 1, 2, ...
  bool operator==(const DeviceOrder&) const = default;
};
// The product of `dims`, which must not be negative, or INT64_MAX on overflow.
int64_t CountDevices(std::span<const int64_t> dims);
DeviceOrder IotaOrder(std::span<const int64_t> dims, std::span<const int64_t> permutation);
DeviceOrder CountingOrder(int64_t devices);

// An axis 'y', or a part of it: 'y':(2)4 splits the axis into factors 2, 4 and the rest, and is the 4.
struct AxisRef {
  int64_t axis = 0;
  int64_t before = 1;
  int64_t size = 0;  // 0 means the whole axis.
  bool operator==(const AxisRef&) const = default;
};

// mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)): devices in a grid with named axes, the last varying fastest.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};
struct Mesh {
  std::vector<MeshAxis> axes;
  DeviceOrder devices;
  std::optional<int64_t> single_device;  // single_device[device_id=1], without axes.

  int64_t DeviceCount() const;
  int64_t SizeOf(const AxisRef& ref) const { return ref.size == 0 ? axes[ref.axis].size : ref.size; }
  bool operator==(const Mesh&) const = default;
};

enum class Reduction : uint8_t { kSum, kMax, kMin };
Metadata MetadataOf(Reduction reduction);

// The mesh axes that split each dimension, and roles of other axes.
struct NamedSharding {
  struct Dim {
    std::vector<AxisRef> axes;  // Major axes first.
    bool open = false;          // {'x', ?}: propagation may add axes.
    bool operator==(const Dim&) const = default;
  };
  Mesh mesh;
  std::vector<Dim> dims;  // Empty means any rank, with nothing split.
  std::vector<AxisRef> replicated, unreduced, manual;
  bool operator==(const NamedSharding&) const = default;
};

// Subgroups of tiles are in the order of these kinds.
enum class ShardingKind : uint8_t { kMaximal, kManual, kUnknown, kUnreduced, kReplicated, kTiled, kNamed, kTuple };

// devices=[2,1,4]<=[8] last_tile_dims={manual}: tiles along each dimension, then the devices of each kind of subgroup.
struct Tiles {
  std::vector<int64_t> dims;
  DeviceOrder devices;
  // The kinds of the last dims, each at most once, in this order: maximal, manual, unreduced, replicated.
  std::vector<ShardingKind> subgroups;
  bool operator==(const Tiles&) const = default;
};

struct Sharding {
  enum class Group : uint8_t { kNone, kAs, kLike };

  ShardingKind kind = ShardingKind::kReplicated;
  Group group = Group::kNone;
  Reduction reduction = Reduction::kSum;
  int64_t group_id = 0;        // shard_as 5
  int64_t device = 0;          // kMaximal
  Boxed<Tiles> tiles;          // kTiled
  Boxed<NamedSharding> named;  // kNamed
  std::vector<Sharding> leaves;
  std::vector<Metadata> metadata;  // Without the entry that encodes `reduction` (MetadataOf).

  // Ignores metadata, as XLA does.
  bool operator==(const Sharding& other) const;
};

// Whether values of devices still have to be reduced. False for named shardings, which list their unreduced axes.
bool NeedsReduction(const Sharding& sharding);

// The normal form of a tiled sharding. `subgroups` are the kinds of the last dims, in any order. If no dimension is
// split and there is only one kind, the result has this kind instead of tiles. The number of devices must be the
// product of `dims`.
Sharding TiledSharding(std::vector<int64_t> dims, DeviceOrder devices, const std::vector<ShardingKind>& subgroups);

void AppendTo(std::string& out, const Sharding& sharding, bool with_metadata = true);

// domain={kind="sharding", entry={...}, exit={...}}
struct Domain {
  Sharding entry, exit;
  bool operator==(const Domain&) const = default;
};
void AppendTo(std::string& out, const Domain& domain);

// replica_groups= in its three spellings.
struct IotaGroups {  // [2,4]<=[8]: the rows of the reshaped device order.
  int64_t count = 0, size = 0;
  DeviceOrder devices;
  bool operator==(const IotaGroups&) const = default;
};
struct MeshGroups {  // mesh['x'=2,'y'=4] {'y'}: devices that differ only along these axes.
  Mesh mesh;
  std::vector<AxisRef> axes;
  bool operator==(const MeshGroups&) const = default;
};
struct ReplicaGroups {
  std::variant<std::vector<std::vector<int64_t>>, IotaGroups, MeshGroups> groups;  // {} is one group with all devices.
  bool operator==(const ReplicaGroups&) const = default;
};
void AppendTo(std::string& out, const ReplicaGroups& groups);

}  // namespace hlo

#endif  // HLO_IR_SHARDING_H_
