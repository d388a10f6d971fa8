#include "tests/doubles/double.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/doubles/cuda.h"

namespace hlo::doubles {
namespace {

struct CallRow {
  Library library;
  const char* name;
  unsigned rules;
};
constexpr CallRow kCalls[] = {
#define CALL(library, name, rules) {Library::library, #name, rules},
#include "tests/doubles/calls.def"
};

struct ErrorRow {
  Library library;
  const char* name;
  int number;
  bool lost;
  const char* words;
};
constexpr ErrorRow kErrors[] = {
#define ERROR(library, name, number, lost, words) {Library::library, #name, number, lost, words},
#include "tests/doubles/errors.def"
};

const ErrorRow* FindError(Library library, int number) {
  for (const ErrorRow& row : kErrors) {
    if (row.library == library && row.number == number) return &row;
  }
  return nullptr;
}

// A failure that HLO_DOUBLE_FAIL requests.
struct Failure {
  std::string name;
  long at = 0;
  std::string error;  // If empty, the library's general error.
  long seen = 0;
};

struct Process {
  std::recursive_mutex mutex;
  std::vector<AnyRegistry*> registries;
  std::vector<Failure> failures;
  int trace = -1;
  int violations = 0;
  int lost = 0;  // The error that lost the context, or 0.

  Process() {
    if (const char* path = std::getenv("HLO_DOUBLE_TRACE"))
      trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const char* const asked = std::getenv("HLO_DOUBLE_FAIL");
    std::istringstream all(asked != nullptr ? asked : "");
    for (std::string one; std::getline(all, one, ',');) {
      std::istringstream parts(one);
      Failure failure;
      std::string at;
      std::getline(parts, failure.name, ':');
      std::getline(parts, at, ':');
      std::getline(parts, failure.error);
      failure.at = std::atol(at.c_str());
      failures.push_back(std::move(failure));
    }
  }
};

// The object is never destroyed, because other destructors need it.
Process& TheProcess() {
  static auto* const process = new Process;
  return *process;
}

// A request for an unknown name or error would never fail, so it is a violation.
void CheckFailures() {
  const auto known = [](const Failure& failure) {
    bool name = failure.name == "*" || failure.name == "kernel", error = failure.error.empty();
    for (const CallRow& row : kCalls) name |= failure.name == row.name;
    for (const ErrorRow& row : kErrors) error |= failure.error == row.name;
    return name && error && failure.at > 0;
  };
  for (const Failure& failure : TheProcess().failures) {
    if (!known(failure)) Violation(Words("HLO_DOUBLE_FAIL: '", failure.name, ":", failure.at, ":", failure.error, "'"));
  }
}

// Runs after everything else, also if the program ends by exit().
__attribute__((destructor)) void End() {
  Process& process = TheProcess();
  CheckFailures();
  for (const AnyRegistry* registry : process.registries) {
    if (registry->alive() == 0) continue;
    Violation(Words(registry->alive(), " ", registry->what(), registry->alive() == 1 ? " was" : "s were",
                    " never given back"));
  }
  CheckRedZones();
  if (process.violations == 0) return;
  std::fflush(nullptr);
  _exit(kExitViolation);
}

}  // namespace

void Violation(const std::string& what) {
  ++TheProcess().violations;
  std::fflush(stdout);
  std::fprintf(stderr, "double: %s\n", what.c_str());
}

void Trace(const std::string& line) {
  const int file = TheProcess().trace;
  if (file < 0) return;
  const std::string whole = line + "\n";
  if (write(file, whole.data(), whole.size()) < 0) Violation("HLO_DOUBLE_TRACE cannot be written");
}

AnyRegistry::AnyRegistry(std::string what) : what_(std::move(what)) { TheProcess().registries.push_back(this); }

namespace {

// The errors of a library: it is not initialized, the context is missing, the context is lost, and any other error.
struct Statuses {
  int not_ready, no_context, lost, other;
};
Statuses StatusesOf(Library library) {
  switch (library) {
    case Library::kCublas:
      return {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_EXECUTION_FAILED,
              CUBLAS_STATUS_INTERNAL_ERROR};
    case Library::kCudnn:
      return {CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_EXECUTION_FAILED,
              CUDNN_STATUS_INTERNAL_ERROR};
    case Library::kCupti:
      return {CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN};
    case Library::kCuda: break;
  }
  return {CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT, TheProcess().lost, CUDA_ERROR_UNKNOWN};
}

}  // namespace

int FailsAsAsked(const char* name, bool is_call, Library library) {
  int status = 0;
  for (Failure& failure : TheProcess().failures) {
    if (failure.name != name && !(failure.name == "*" && is_call)) continue;
    if (++failure.seen != failure.at) continue;
    status = StatusesOf(library).other;
    for (const ErrorRow& row : kErrors) {
      if (row.library == library && failure.error == row.name) status = row.number;
    }
    Trace(Words("! ", name, " ", ErrorName(library, status)));
  }
  return status;
}

int NoteLoss(int status) {
  const ErrorRow* const row = FindError(Library::kCuda, status);
  if (row != nullptr && row->lost) TheProcess().lost = status;
  return status;
}

const char* ErrorName(Library library, int status) {
  const ErrorRow* const row = FindError(library, status);
  return row != nullptr ? row->name : nullptr;
}
const char* ErrorWords(Library library, int status) {
  const ErrorRow* const row = FindError(library, status);
  return row != nullptr ? row->words : nullptr;
}

Entry::Entry(Function function) : lock_(TheProcess().mutex), function_(function) {
  const CallRow& row = kCalls[static_cast<int>(function)];
  const Statuses statuses = StatusesOf(row.library);
  const bool in_context = (row.rules & kContext) != 0;
  Trace(row.name);
  status_ = FailsAsAsked(row.name, true, row.library);
  if (row.library == Library::kCuda) NoteLoss(status_);
  if ((row.rules & kReady) != 0 || in_context) {
    if (!IsReady()) status_ = Violates(statuses.not_ready, "cuInit was not called");
    else if (in_context && !HasContext())
      status_ = Violates(statuses.no_context, "no context is current on this thread");
    else if (in_context && status_ == 0 && TheProcess().lost != 0) status_ = statuses.lost;
  }
  ends_ = status_ != 0 && (row.rules & kCleansUp) == 0;
}

int Entry::Violates(int status, const std::string& what) const {
  Violation(Words(kCalls[static_cast<int>(function_)].name, ": ", what));
  return status;
}

}  // namespace hlo::doubles
