// Kernels or the interpreter: what a module can run on.
#ifndef HLO_DRIVER_RUN_PLATFORM_H_
#define HLO_DRIVER_RUN_PLATFORM_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Of --platform. Where nobody chose one, the interpreter runs what kernels on one device cannot, with a note: all
// devices.
bool MustInterpret(const Module& module, const std::string& platform, std::vector<std::string>* notes);

// Kernels run on one device: that must be enough, or be said. Errors: [U102] it is not, [R005] control flow nested
// deeper than `max_depth`.
Status CheckKernelsSuffice(const Module& module, int64_t max_depth, std::vector<std::string>* notes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PLATFORM_H_
