// What the program does for a double of the driver, and all of it: a libcuda that stands in for a device that is not
// there (docs/architecture.md#doubles) cannot run PTX. It is left the kernel behind each text, and the emulator, which
// runs that. Nothing of this happens with a library that does not say that it is a double.
//
// Doubles are compiled apart: what they share with the program is plain data and functions.
#ifndef HLO_GPU_DEVICE_EMULATED_H_
#define HLO_GPU_DEVICE_EMULATED_H_

#include <cstdint>

namespace hlo::kernel {
struct Kernel;
struct Ptx;
}  // namespace hlo::kernel

namespace hlo::gpu {

class SharedLibrary;

// A kernel as the double of a driver sees it.
struct EmulatedKernel {
  struct Argument {  // One pointer of a launch.
    int64_t bytes;   // The least that must lie there.
    int64_t alignment;
    bool written;
  };
  const char* name;
  int64_t blocks;
  int threads;
  int cluster;
  int64_t dynamic_shared_bytes;
  const Argument* arguments;
  int64_t argument_count;
  const int64_t* pointers;  // Of each parameter, how many of the arguments it is.
  int64_t parameter_count;
};

struct EmulatorTable {
  // Null: no text that this process made. Lives as long as the process.
  const EmulatedKernel* (*find)(const char* ptx);
  // One at a time. Null, or what went wrong; the words stay until the next run. `sanitize`: accesses are watched.
  // `set_condition`: what the kernel's cudaGraphSetConditional does.
  const char* (*run)(const EmulatedKernel* kernel, void* const* arguments, bool sanitize,
                     void (*set_condition)(uint64_t handle, uint32_t value));
};

// What a double exports: void(const EmulatorTable*).
constexpr char kAttachSymbol[] = "hlo_double_attach";

// Leaves `library` the table; false when it is no double.
bool AttachEmulator(const SharedLibrary& library);
// From here on EmulatorTable::find knows the text.
void KeepForEmulator(const kernel::Ptx& ptx, const kernel::Kernel& kernel);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_EMULATED_H_
