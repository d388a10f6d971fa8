// Decides whether a module runs in kernels or in the interpreter.
#ifndef HLO_DRIVER_RUN_PLATFORM_H_
#define HLO_DRIVER_RUN_PLATFORM_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// True for --platform=interpreter, and, with a note, for --platform=auto if the module needs several devices.
bool MustInterpret(const Module& module, const std::string& platform, std::vector<std::string>* notes);

// Adds a note if other devices are left out. Errors: [U102] the module needs several devices, [R005] control flow is
// nested deeper than `max_depth`.
Status CheckKernelsSuffice(const Module& module, int64_t max_depth, std::vector<std::string>* notes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PLATFORM_H_
