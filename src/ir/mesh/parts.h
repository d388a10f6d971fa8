// The part of an array that each device holds according to a sharding.
//
//   sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, f32[5,3] as a whole
//   => 2 tiles along dimension 0: devices 0 and 1 hold rows 0 to 2, devices 2 and 3 hold rows 3 and 4
//
// A dimension of `size` elements over `tiles` tiles has parts of ceil(size / tiles) elements. All parts have one shape,
// and the last ones are padded. Source: HloSharding::TileShape and TileOffsetForDevice of XLA.
#ifndef HLO_IR_MESH_PARTS_H_
#define HLO_IR_MESH_PARTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/shape.h"
#include "ir/sharding.h"

namespace hlo {

class Instruction;

struct DeviceTiles {
  std::vector<int64_t> counts;  // Number of tiles along each dimension.
  std::vector<int64_t> devices;
  std::vector<std::vector<int64_t>> tile_of;  // Tile index by entry of `devices`.
};
// Ignores the subgroups in the last dimensions.
DeviceTiles TilesOf(const Tiles& tiles);
// The mesh must not be a single device.
DeviceTiles TilesOf(const NamedSharding& named);

// The box of an array that a device holds.
struct Part {
  std::vector<int64_t> start;
  std::vector<int64_t> size;  // Without padding.
};

class PartTable {
 public:
  // For devices 0 to `devices` - 1. Errors (A028): the sharding is for another number of devices or another rank, or it
  // is maximal, manual, unknown, unreduced or a tuple.
  static Result<PartTable> Make(const Sharding& sharding, int64_t rank, int64_t devices);

  int64_t devices() const { return static_cast<int64_t>(tile_of_.size()); }
  bool IsCut() const;  // If false, each device holds the whole array.
  // Devices with the same tile hold the same part.
  const std::vector<int64_t>& TileOf(int64_t device) const { return tile_of_[device]; }

  Shape LocalShape(const Shape& whole) const;
  Part PartOf(int64_t device, std::span<const int64_t> whole) const;
  // Whether `whole` has parts of these sizes: 5 to 8 rows over 4 devices give 2 rows.
  bool Fits(std::span<const int64_t> whole, std::span<const int64_t> local) const;
  Shape LargestWhole(const Shape& local) const;
  // All whole arrays with parts of this shape: "f32[13..16,8]".
  std::string WholesText(const Shape& local) const;

 private:
  std::vector<int64_t> counts_;
  std::vector<std::vector<int64_t>> tile_of_;
};

// Null if the leaf has no sharding.
const Sharding* ShardingOfLeaf(const Instruction& inst, int64_t leaf);

}  // namespace hlo

#endif  // HLO_IR_MESH_PARTS_H_
