// Within the driver's double, and for the doubles that link with it.
#ifndef HLO_TESTS_DOUBLES_CUDA_H_
#define HLO_TESTS_DOUBLES_CUDA_H_

#include <cstdint>
#include <string>

#include "gpu/device/emulated.h"
#include "tests/doubles/double.h"

namespace hlo::doubles {

bool IsReady();
bool HasContext();

// The status with which a call, or the work "kernel", is to fail; 0: it does not.
int FailsAsAsked(const char* name, bool is_call, Library library);
// `status`; from here on everything fails with it where it is one that loses the context.
int NoteLoss(int status);

// Null: none.
const char* ErrorName(Library library, int status);
const char* ErrorWords(Library library, int status);

// What was written beside allocations is a violation.
void CheckRedZones();

// Of CUDA: 13000, or what HLO_DOUBLE_DRIVER says.
int DriverVersion();
bool IsContext(const void* handle);
// Whether it is alive; if not, after a violation.
bool IsStream(const Entry& entry, void* handle);

// What kernels call: a violation where the handle is none of a graph that runs.
void SetCondition(uint64_t handle, uint32_t value);

// Runs what is queued, of a stream or of all. The first error ends it; the rest is dropped.
int Drain(void* stream);
int DrainAll();

// Who is told of what runs: CUPTI's double. Times are nanoseconds of the system's clock.
struct Ran {
  WorkKind kind;
  uint32_t correlation;  // Of the call that queued it, or its graph; 0: it is in a body.
  const void* node;      // Of an instantiated graph; null: it is in none.
  uint64_t begin, end;
};
struct Watcher {
  void (*queued)(uint32_t correlation);
  void (*ran)(const Ran& ran);
  void (*cloned)(const void* node, const void* copy);  // Into a graph that is instantiated.
};
void SetWatcher(const Watcher* watcher);
// Runs and tells. `node`: null, or of an instantiated graph.
int RunWatched(const Work& work, const void* node, bool in_body = false);
void TellQueued(uint32_t correlation);
void TellCloned(const void* node, const void* copy);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_CUDA_H_
