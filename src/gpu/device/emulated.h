// Support for a double of the CUDA driver (docs/architecture.md#doubles). A double cannot run PTX, so the program gives
// it the emulator and the kernel of each PTX text. Doubles are compiled separately, so the interface is plain data and
// functions.
#ifndef HLO_GPU_DEVICE_EMULATED_H_
#define HLO_GPU_DEVICE_EMULATED_H_

#include <cstdint>

namespace hlo::kernel {
struct Kernel;
struct Ptx;
}  // namespace hlo::kernel

namespace hlo::gpu {

class SharedLibrary;

struct EmulatedKernel {
  struct Argument {
    int64_t bytes;  // The least size that the array must have.
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
  const int64_t* pointers;  // Number of arguments of each parameter.
  int64_t parameter_count;
};

struct EmulatorTable {
  // The kernel registered with this PTX, or null. Valid until the process ends.
  const EmulatedKernel* (*find)(const char* ptx);
  // Returns null or an error message, valid until the next run. Not thread-safe. `set_condition` implements
  // cudaGraphSetConditional.
  const char* (*run)(const EmulatedKernel* kernel, void* const* arguments, bool sanitize,
                     void (*set_condition)(uint64_t handle, uint32_t value));
};

// The function that a double exports: void(const EmulatorTable*).
constexpr char kAttachSymbol[] = "hlo_double_attach";

// Passes the emulator to a double. False if `library` is not a double.
bool AttachEmulator(const SharedLibrary& library);
// Registers a kernel and its PTX text for EmulatorTable::find.
void KeepForEmulator(const kernel::Ptx& ptx, const kernel::Kernel& kernel);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_EMULATED_H_
