// Finds modules that are still to be partitioned.
#ifndef HLO_IR_MESH_UNPARTITIONED_H_
#define HLO_IR_MESH_UNPARTITIONED_H_

namespace hlo {

class Module;

// The frontend attribute by which spmd-partitioning marks its result.
inline constexpr char kPartitionedAttribute[] = "hlokit.partitioned";

// Whether the text states shardings and is not the program of one device yet. A program of one device has the name of
// an entry of XLA's partitioner, or collectives between partitions outside of manual regions.
bool IsUnpartitioned(const Module& module);

// Whether the module is unpartitioned, and states a split of an array over several partitions.
bool SplitsArrays(const Module& module);

// JAX passes the number of partitions, and the permission to split results, beside the text that
// `lower(...).as_text("hlo")` returns. If the header of an unpartitioned module has no number, takes both from the
// shardings. Returns whether it did.
bool TakePartitionsOfShardings(Module& module);

}  // namespace hlo

#endif  // HLO_IR_MESH_UNPARTITIONED_H_
