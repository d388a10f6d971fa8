// What was compiled from a module, in its dump: the steps in order, the buffers, and each kernel with its code at every
// stage.
#ifndef HLO_DRIVER_DUMP_DUMP_COMPILED_H_
#define HLO_DRIVER_DUMP_DUMP_COMPILED_H_

#include <string_view>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Writes, in the dump of the module:
//   <platform>_after_optimizations-buffer-assignment.txt
//   thunk_sequence.txt          one line a step: number, kind, instruction, how
//   kernels.json                "hlo.kernels/1": one object a launch, in order
//   KERNEL.ir-no-opt.ll, KERNEL.ir-with-opt.ll, KERNEL.ptx, KERNEL.host.ll
// Kernels that compute the same share their files. ptxas, where there is one, adds registers and spills to
// kernels.json. A stage that fails is told in kernels.json under "errors"; it does not end the run.
Status DumpCompiled(const gpu::Executable& executable, std::string_view platform, Dumper& dumper);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_COMPILED_H_
