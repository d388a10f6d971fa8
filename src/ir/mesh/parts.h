// The part of an array that each device holds, by a sharding: arithmetic on sizes and device numbers. Values are cut
// and joined elsewhere (interp/devices/parts.h).
//
//   sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, f32[5,3] as a whole
//   => 2 tiles along dimension 0: devices 0 and 1 hold rows 0 to 2, devices 2 and 3 hold rows 3 and 4
//
// A dimension of `size` elements over `tiles` tiles has parts of ceil(size / tiles) elements. The last parts hold fewer
// elements of the whole, or none; all parts have the same shape, and what fills them up has no meaning.
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

// An array of tiles, dealt out to devices.
struct DeviceTiles {
  std::vector<int64_t> counts;                // Tiles along each dimension of the array that is cut.
  std::vector<int64_t> devices;               // In the order of the sharding.
  std::vector<std::vector<int64_t>> tile_of;  // The tile of each of `devices`, as an index.
};
// Subgroups at the end of `dims` cut nothing, whatever their kind.
DeviceTiles TilesOf(const Tiles& tiles);
// The mesh has no single device.
DeviceTiles TilesOf(const NamedSharding& named);

// The box of an array that a device holds.
struct Part {
  std::vector<int64_t> start;  // In the whole array.
  std::vector<int64_t> size;   // Only elements of the whole.
};

class PartTable {
 public:
  // The parts of an array of this rank on devices 0 to `devices` - 1. Errors: [A028] the sharding does not say which
  // part a device holds (maximal, manual, unknown, unreduced), is for another number of devices, or of another rank.
  static Result<PartTable> Make(const Sharding& sharding, int64_t rank, int64_t devices);

  int64_t devices() const { return static_cast<int64_t>(tile_of_.size()); }
  std::span<const int64_t> counts() const { return counts_; }
  bool IsCut() const;  // Else each device holds the whole array.
  // Whether two devices hold the same part.
  bool HoldSamePart(int64_t a, int64_t b) const { return tile_of_[a] == tile_of_[b]; }

  // The shape of a device's part: ceil(size / tiles) along each dimension.
  Shape LocalShape(const Shape& whole) const;
  Part PartOf(int64_t device, std::span<const int64_t> whole) const;
  // Whether `local` are the sizes of the parts of `whole`. Several sizes of a whole have parts of one size: 5 to 8 rows
  // over 4 devices are 2 rows on each.
  bool Fits(std::span<const int64_t> whole, std::span<const int64_t> local) const;
  // The largest whole that has such parts: no part is filled up.
  Shape LargestWhole(const Shape& local) const;
  // "f32[13..16,8]": all wholes that have such parts.
  std::string WholesText(const Shape& local) const;

 private:
  std::vector<int64_t> counts_;
  std::vector<std::vector<int64_t>> tile_of_;  // By device.
};

// The sharding of leaf number `leaf` of the instruction's value; null where it has none.
const Sharding* ShardingOfLeaf(const Instruction& inst, int64_t leaf);

}  // namespace hlo

#endif  // HLO_IR_MESH_PARTS_H_
