// Dumps the compiled module: steps, buffers, and the code of each kernel.
#ifndef HLO_DRIVER_DUMP_DUMP_COMPILED_H_
#define HLO_DRIVER_DUMP_DUMP_COMPILED_H_

#include <string_view>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Writes to the module's dump:
//   <platform>_after_optimizations-buffer-assignment.txt
//   thunk_sequence.txt          number, kind, instruction and form of each step
//   kernels.json                "hlo.kernels/1": an object for each launch, in order
//   KERNEL.ir-no-opt.ll, KERNEL.ir-with-opt.ll, KERNEL.ptx, KERNEL.host.ll
// Equal kernels share files. kernels.json has registers and spills if ptxas is available, and failed stages under
// "errors".
Status DumpCompiled(const gpu::Executable& executable, std::string_view platform, Dumper& dumper);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_COMPILED_H_
