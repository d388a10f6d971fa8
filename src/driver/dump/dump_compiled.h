// Dumps the compiled module: steps in order, buffers, and the code of each kernel at every stage.
#ifndef HLO_DRIVER_DUMP_DUMP_COMPILED_H_
#define HLO_DRIVER_DUMP_DUMP_COMPILED_H_

#include <string_view>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Writes to the dump of the module:
//   <platform>_after_optimizations-buffer-assignment.txt
//   thunk_sequence.txt          for each step its number, kind, instruction and form
//   kernels.json                "hlo.kernels/1": an object for each launch, in order
//   KERNEL.ir-no-opt.ll, KERNEL.ir-with-opt.ll, KERNEL.ptx, KERNEL.host.ll
// Equal kernels share their files. If ptxas is available, kernels.json has registers and spills. A failed stage is
// listed in kernels.json under "errors" and does not end the run.
Status DumpCompiled(const gpu::Executable& executable, std::string_view platform, Dumper& dumper);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_COMPILED_H_
