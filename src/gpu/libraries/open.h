// Which library takes a call, on which device.
#ifndef HLO_GPU_LIBRARIES_OPEN_H_
#define HLO_GPU_LIBRARIES_OPEN_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/library.h"
#include "ir/instruction.h"

namespace hlo::gpu {

struct LibraryOptions {
  std::vector<std::string> search;  // Folders to look in first.
  bool allow_tf32 = false;
};

struct LibraryAnswer {
  std::unique_ptr<LibraryCall> call;  // Null: no library takes it.
  std::string why_not;
};

// `fusion` is kCustom and holds a dot or a convolution with its epilogue.
Result<LibraryAnswer> OpenLibraryCall(const Instruction& fusion, Device& device, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OPEN_H_
