// How values lie on the devices of a program that runs on several, and which devices talk to each other: the values of
// sharding=, domain= and replica_groups=. Each is kept in one spelling, XLA's, so that equal ones are equal and print
// alike. Their forms: docs/language.md#sharding. What fits a shape and a module is the verifier's business (V255-V258).
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

// The order in which devices are dealt out: listed one by one, or as 0, 1, ... reshaped to `dims`, permuted (dimension
// i of what results is `permutation[i]`) and flattened.
struct DeviceOrder {
  std::vector<int64_t> listed;  // Empty when the formula says it.
  std::vector<int64_t> dims;    // Without dimensions of 1 (but the only one), nor neighbours that stay neighbours.
  std::vector<int64_t> permutation;

  bool IsFormula() const { return listed.empty(); }
  bool IsCounting() const { return listed.empty() && dims.size() <= 1; }  // 0, 1, 2, ...
  bool operator==(const DeviceOrder&) const = default;
};
// The product of `dims`, none of them negative; INT64_MAX when it is that or more.
int64_t CountDevices(std::span<const int64_t> dims);
DeviceOrder IotaOrder(std::span<const int64_t> dims, std::span<const int64_t> permutation);
DeviceOrder CountingOrder(int64_t devices);

// 'y', or a part of it: 'y':(2)4 is what is left of the axis when it is split into 2, 4 and the rest, and the 4 taken.
struct AxisRef {
  int64_t axis = 0;  // By its place in the mesh.
  int64_t before = 1;
  int64_t size = 0;  // 0: the whole axis.
  bool operator==(const AxisRef&) const = default;
};

// mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)): devices in a grid with named axes, the last one running fastest.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};
struct Mesh {
  std::vector<MeshAxis> axes;
  DeviceOrder devices;
  std::optional<int64_t> single_device;  // single_device[device_id=1]: there are no axes then.

  int64_t DeviceCount() const;
  int64_t SizeOf(const AxisRef& ref) const { return ref.size == 0 ? axes[ref.axis].size : ref.size; }
  bool operator==(const Mesh&) const = default;
};

enum class Reduction : uint8_t { kSum, kMax, kMin };
// The entry of a sharding's metadata that tells it.
Metadata MetadataOf(Reduction reduction);

// Over a mesh: the axes that split each dimension, and what the others do.
struct NamedSharding {
  struct Dim {
    std::vector<AxisRef> axes;  // The major ones first.
    bool open = false;          // {'x', ?}: propagation may add axes.
    bool operator==(const Dim&) const = default;
  };
  Mesh mesh;
  std::vector<Dim> dims;  // None: of any rank, nothing split.
  std::vector<AxisRef> replicated, unreduced, manual;
  bool operator==(const NamedSharding&) const = default;
};

// In the order in which subgroups stand.
enum class ShardingKind : uint8_t { kMaximal, kManual, kUnknown, kUnreduced, kReplicated, kTiled, kNamed, kTuple };

// devices=[2,1,4]<=[8] last_tile_dims={manual}: tiles along each dimension, then one for each kind of subgroup.
struct Tiles {
  std::vector<int64_t> dims;
  DeviceOrder devices;
  std::vector<ShardingKind>
      subgroups;  // Of the last dims: ascending, each once; maximal, manual, unreduced, replicated.
  bool operator==(const Tiles&) const = default;
};

struct Sharding {
  enum class Group : uint8_t { kNone, kAs, kLike };

  ShardingKind kind = ShardingKind::kReplicated;
  Group group = Group::kNone;
  Reduction reduction = Reduction::kSum;  // Of what is unreduced.
  int64_t group_id = 0;                   // shard_as 5
  int64_t device = 0;                     // kMaximal
  Boxed<Tiles> tiles;                     // kTiled
  Boxed<NamedSharding> named;             // kNamed
  std::vector<Sharding> leaves;           // kTuple: one for each leaf of the shape, none of them a tuple.
  std::vector<Metadata> metadata;         // Without the entry that tells the reduction.

  // Metadata aside, as in XLA.
  bool operator==(const Sharding& other) const;
};

// Whether something in it is unreduced, so that it has a reduction; over a mesh its own list of axes tells that.
bool TellsReduction(const Sharding& sharding);

// Tiles in their one spelling, which may be none at all: when nothing but one kind of subgroup is left, that kind.
// `subgroups` are those of the last dims, in any order; the devices must be as many as the product of `dims`.
Sharding TiledSharding(std::vector<int64_t> dims, DeviceOrder devices, const std::vector<ShardingKind>& subgroups);

// As XLA prints it, with its braces.
void AppendTo(std::string& out, const Sharding& sharding, bool with_metadata = true);

// domain={kind="sharding", entry={...}, exit={...}}
struct Domain {
  Sharding entry, exit;
  bool operator==(const Domain&) const = default;
};
void AppendTo(std::string& out, const Domain& domain);

// replica_groups= in its three spellings.
struct IotaGroups {  // [2,4]<=[8]: the rows of the devices, reshaped.
  int64_t count = 0, size = 0;
  DeviceOrder devices;
  bool operator==(const IotaGroups&) const = default;
};
struct MeshGroups {  // mesh['x'=2,'y'=4] {'y'}: the devices that differ along these axes alone.
  Mesh mesh;
  std::vector<AxisRef> axes;
  bool operator==(const MeshGroups&) const = default;
};
struct ReplicaGroups {
  std::variant<std::vector<std::vector<int64_t>>, IotaGroups, MeshGroups> groups;  // {}: one group of all.
  bool operator==(const ReplicaGroups&) const = default;
};
void AppendTo(std::string& out, const ReplicaGroups& groups);

}  // namespace hlo

#endif  // HLO_IR_SHARDING_H_
