// The mesh of a module: the devices of its partitions as a grid of atoms, the common axes of all its shardings.
//
//   {devices=[2,4]<=[8]} and {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate} in one module of 8 partitions
//   => atoms 'a' of size 2 and 'b' of size 4. The first sharding splits dimension 0 by 'a' and dimension 1 by 'b', the
//      second one dimension 0 by 'b'.
//
// Atoms are the coarsest digits of the device number that no sharding splits further.
#ifndef HLO_IR_MESH_AXES_H_
#define HLO_IR_MESH_AXES_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "base/result.h"
#include "ir/digits.h"
#include "ir/shape.h"
#include "ir/sharding.h"

namespace hlo {

class Module;

// A set of atoms, by number.
class AxisSet {
 public:
  static constexpr int kMost = 32;

  AxisSet() = default;
  static AxisSet Of(std::span<const uint8_t> atoms);
  static AxisSet First(int count) { return AxisSet(static_cast<uint32_t>((uint64_t{1} << count) - 1)); }

  bool empty() const { return bits_ == 0; }
  int size() const { return std::popcount(bits_); }
  bool Has(int atom) const { return (bits_ >> atom & 1) != 0; }
  void Add(int atom) { bits_ |= uint32_t{1} << atom; }
  void Remove(int atom) { bits_ &= ~(uint32_t{1} << atom); }
  std::vector<int> Atoms() const;  // Ascending.

  bool operator==(const AxisSet&) const = default;
  friend AxisSet operator|(AxisSet a, AxisSet b) { return AxisSet(a.bits_ | b.bits_); }
  friend AxisSet operator&(AxisSet a, AxisSet b) { return AxisSet(a.bits_ & b.bits_); }
  friend AxisSet operator-(AxisSet a, AxisSet b) { return AxisSet(a.bits_ & ~b.bits_); }

 private:
  explicit AxisSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

// The distribution of one array over the mesh. The array is replicated along atoms that occur in no member.
class ArraySplit {
 public:
  explicit ArraySplit(int64_t rank = 0) : ends_(rank, 0) {}

  int64_t rank() const { return std::ssize(ends_); }
  // The atoms that split a dimension, the major one first.
  std::span<const uint8_t> AtomsOf(int64_t dim) const;
  void Append(int64_t dim, int atom);
  AxisSet InDims() const { return AxisSet::Of(atoms_); }
  bool IsReplicated() const { return atoms_.empty() && pending.empty() && manual.empty() && !only_device; }

  // The array is the `reduction` of the values along these atoms.
  AxisSet pending;
  Reduction reduction = Reduction::kSum;
  // Atoms of a manual region: along them, the program treats the array as one device's part.
  AxisSet manual;
  std::optional<int64_t> only_device;

  bool operator==(const ArraySplit&) const = default;

 private:
  std::vector<uint8_t> atoms_;  // All dimensions, one after the other.
  std::vector<uint8_t> ends_;   // The end of each dimension in `atoms_`.
};

struct Atom {
  int64_t size, stride;  // The digit position / stride % size.
  std::string name;      // The axis of a named mesh, or a part of it such as x:(1)2. Otherwise a, b, ...
};

class Axes {
 public:
  // From all shardings of the module, including Shardy's. If no atoms fit all shardings, they fit the most frequent
  // ones.
  static Axes Of(const Module& module);
  // From the shardings for `devices` devices. Named shardings take precedence.
  static Axes Of(std::span<const Sharding* const> shardings, int64_t devices);

  int64_t devices() const { return devices_; }
  const std::vector<Atom>& atoms() const { return atoms_; }
  AxisSet All() const { return AxisSet::First(static_cast<int>(atoms_.size())); }
  // The atoms that make up these digits of the position, or nullopt.
  std::optional<std::vector<uint8_t>> AtomsAt(const std::vector<Digit>& digits) const;
  int64_t SizeOf(AxisSet atoms) const;
  int64_t SizeOf(std::span<const uint8_t> atoms) const { return SizeOf(AxisSet::Of(atoms)); }

  // Errors (A028): the sharding is for another rank or number of devices, its tiles are not made of atoms, or it is
  // unknown or a tuple.
  Result<ArraySplit> Read(const Sharding& sharding, int64_t rank) const;
  // The atoms that a named sharding states as replicated, which no dimension may get.
  AxisSet ReplicatedIn(const Sharding& sharding) const;
  // The tiled sharding in XLA's normal form. Read returns the same split for it.
  Sharding Write(const ArraySplit& split) const;

  // Whether positions of the mesh differ from device numbers.
  bool IsListed() const { return !listed_.empty(); }
  int64_t DeviceAt(int64_t position) const { return listed_.empty() ? position : listed_[position]; }
  int64_t PositionOf(int64_t device) const { return positions_.empty() ? device : positions_[device]; }

  // The shape of a device's part: each dimension is ceil(size / parts).
  Shape LocalShape(const Shape& whole, const ArraySplit& split) const;

  // "d=2, m=4"
  std::string Text() const;
  // "[{d}, {m, k}, {}]", with "sum={x}", "max={x}" or "manual={x}" behind it, or "device 3".
  std::string Text(const ArraySplit& split) const;

 private:
  friend class MeshBuilder;
  friend class PrimeAtoms;
  DeviceOrder InPositions(const DeviceOrder& order) const;

  int64_t devices_ = 1;
  std::vector<Atom> atoms_;         // Descending strides.
  std::vector<int64_t> listed_;     // The device at each position; empty if a position is its device number.
  std::vector<int64_t> positions_;  // The inverse.
};

}  // namespace hlo

#endif  // HLO_IR_MESH_AXES_H_
