// The program of one device that sharding-propagation and spmd-partitioning make, run on all devices.
#ifndef HLO_TESTS_PASSES_PARTITIONED_PROGRAM_H_
#define HLO_TESTS_PASSES_PARTITIONED_PROGRAM_H_

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

Status RunPasses(Module& module, std::initializer_list<std::string_view> names);

// The results of the partitioned program, joined, or the error. The root must be one array with a sharding. The padding
// of uneven parts of the arguments has these bytes.
Result<Literal> Partitioned(const std::string& text, std::span<const Literal> args, std::byte padding);

// Compares the partitioned program with the program on one device, on small integers, whose sums are exact, and with
// several values of the padding.
void ExpectSame(const std::string& text);

std::string PartitionedText(const std::string& text);

}  // namespace hlo

#endif  // HLO_TESTS_PASSES_PARTITIONED_PROGRAM_H_
