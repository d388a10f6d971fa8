// Comparator `local` over a run: every kernel and library call against the shadow of its HLO, from its actual inputs.
#ifndef HLO_DRIVER_LOCAL_CHECK_H_
#define HLO_DRIVER_LOCAL_CHECK_H_

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Executes twice with the bound arguments: once to count loop iterations, once to look. In loops the first, the last
// and 8 seeded iterations are checked. The first step that breaks its bounds becomes the culprit, and the run goes on:
// later steps are judged from what they were given, so one wrong kernel does not taint the others.
Status CheckLocally(gpu::Executable& executable, const RunOptions& options, Progress& progress, LocalSummary* summary,
                    Culprit* culprit);

}  // namespace hlo

#endif  // HLO_DRIVER_LOCAL_CHECK_H_
