// The part of an array that each device holds according to a sharding, computed from sizes and device numbers. Values
// are split and joined in interp/devices/parts.h.
//
//   sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, f32[5,3] as a whole
//   => 2 tiles along dimension 0: devices 0 and 1 hold rows 0 to 2, devices 2 and 3 hold rows 3 and 4
//
// A dimension of `size` elements over `tiles` tiles has parts of ceil(size / tiles) elements. The last parts hold fewer
// elements of the whole, or none. All parts have the same shape, and padding elements have no meaning.
// Source: HloSharding::TileShape and TileOffsetForDevice of XLA.
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

// An array of tiles and the device of each tile.
struct DeviceTiles {
  std::vector<int64_t> counts;                // Tiles along each dimension of the array.
  std::vector<int64_t> devices;               // In the order of the sharding.
  std::vector<std::vector<int64_t>> tile_of;  // The index of the tile of each entry of `devices`.
};
// Subgroups at the end of `dims` are ignored.
DeviceTiles TilesOf(const Tiles& tiles);
// The mesh must not be a single device.
DeviceTiles TilesOf(const NamedSharding& named);

// The box of an array that a device holds.
struct Part {
  std::vector<int64_t> start;  // In the whole array.
  std::vector<int64_t> size;   // Without padding.
};

class PartTable {
 public:
  // The parts of an array of this rank on devices 0 to `devices` - 1. Errors (A028): the sharding is for another number
  // of devices or another rank, or it is maximal, manual, unknown or unreduced and so determines no parts.
  static Result<PartTable> Make(const Sharding& sharding, int64_t rank, int64_t devices);

  int64_t devices() const { return static_cast<int64_t>(tile_of_.size()); }
  std::span<const int64_t> counts() const { return counts_; }
  bool IsCut() const;  // If false, each device holds the whole array.
  bool HoldSamePart(int64_t a, int64_t b) const { return tile_of_[a] == tile_of_[b]; }

  // The shape of a part: ceil(size / tiles) along each dimension.
  Shape LocalShape(const Shape& whole) const;
  Part PartOf(int64_t device, std::span<const int64_t> whole) const;
  // Whether `local` are the sizes of the parts of `whole`. Several wholes have parts of one size: 5 to 8 rows over 4
  // devices are 2 rows on each.
  bool Fits(std::span<const int64_t> whole, std::span<const int64_t> local) const;
  // The largest whole with parts of this shape, which has no padding.
  Shape LargestWhole(const Shape& local) const;
  // All wholes with parts of this shape: "f32[13..16,8]".
  std::string WholesText(const Shape& local) const;

 private:
  std::vector<int64_t> counts_;
  std::vector<std::vector<int64_t>> tile_of_;  // Indexed by device.
};

// The sharding of leaf number `leaf` of the instruction's value, or null.
const Sharding* ShardingOfLeaf(const Instruction& inst, int64_t leaf);

}  // namespace hlo

#endif  // HLO_IR_MESH_PARTS_H_
