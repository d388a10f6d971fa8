// Declarations for the driver's double and for the doubles that link with it.
#ifndef HLO_TESTS_DOUBLES_CUDA_H_
#define HLO_TESTS_DOUBLES_CUDA_H_

#include <cstdint>
#include <string>

#include "gpu/device/emulated.h"
#include "tests/doubles/double.h"

namespace hlo::doubles {

bool IsReady();
bool HasContext();

// The error with which this call must fail, or 0. `name` is "kernel" if a kernel is about to run.
int FailsAsAsked(const char* name, bool is_call, Library library);
// Returns `status`. If it is an error that loses the context, all later calls fail with it.
int NoteLoss(int status);

// The name and the description of a status. Null if the library has no such status.
const char* ErrorName(Library library, int status);
const char* ErrorWords(Library library, int status);

// Reports each write beside an allocation as a violation.
void CheckRedZones();

// The version of CUDA: 13000, or the value of HLO_DOUBLE_DRIVER.
int DriverVersion();
bool IsContext(const void* handle);
// True if the stream is alive. Otherwise this is a violation.
bool IsStream(const Entry& entry, void* handle);

// Kernels call this function. A handle that does not belong to a running graph is a violation.
void SetCondition(uint64_t handle, uint32_t value);

// Runs the queued work of a stream, or of all streams. The first error ends the run, and the rest of the queue is
// dropped.
int Drain(void* stream);
int DrainAll();

// A piece of work that ran, for CUPTI's double. Times are nanoseconds of the system's clock.
struct Ran {
  WorkKind kind;
  // The correlation of the call that queued the work or launched its graph. 0 for work in the body of a conditional
  // node.
  uint32_t correlation;
  const void* node;  // The node of an instantiated graph, or null.
  uint64_t begin, end;
};
struct Watcher {
  void (*queued)(uint32_t correlation);
  void (*ran)(const Ran& ran);
  void (*cloned)(const void* node, const void* copy);  // `copy` is the node of the instantiated graph.
};
void SetWatcher(const Watcher* watcher);
// Runs the work and informs the watcher. `node` is null or in an instantiated graph.
int RunWatched(const Work& work, const void* node, bool in_body = false);
void RecordQueued(uint32_t correlation);
void RecordClone(const void* node, const void* copy);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_CUDA_H_
