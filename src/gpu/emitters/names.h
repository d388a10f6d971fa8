// The names of the kernel language that emitters use.
#ifndef HLO_GPU_EMITTERS_NAMES_H_
#define HLO_GPU_EMITTERS_NAMES_H_

#include "gpu/kernel/builder.h"

namespace hlo::gpu {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_NAMES_H_
