#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/files.h"
#include "base/text.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/codegen/ptxas_log.h"

namespace hlo::kernel {
namespace {

namespace fs = std::filesystem;

struct TemporaryFiles {
  std::string ptx, cubin;

  TemporaryFiles() {
    std::string name = (fs::temp_directory_path() / "hlo-XXXXXX").string();
    if (const int file = mkstemp(name.data()); file >= 0) close(file);
    ptx = name;
    cubin = name + ".cubin";
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  ~TemporaryFiles() {
    std::error_code ignored;
    fs::remove(ptx, ignored);
    fs::remove(cubin, ignored);
  }
};

struct ChildOutput {
  int status = 0;
  bool timed_out = false;
  std::string text;  // stdout and stderr.
};

Result<ChildOutput> RunChild(std::vector<std::string> arguments, double timeout_seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) FAIL(InternalError(Str("pipe2: ", std::strerror(errno))));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    FAIL(DeviceError("R102", Str("posix_spawn: ", std::strerror(failed), " while starting '", arguments[0], "'")));
  }
  ChildOutput output;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds);
  for (char buffer[4096];;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd poller{.fd = ends[0], .events = POLLIN, .revents = 0};
    const int ready = left <= 0 ? 0 : poll(&poller, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      output.timed_out = true;
      kill(child, SIGKILL);
      break;
    }
    const ssize_t bytes = read(ends[0], buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    output.text.append(buffer, bytes);
  }
  close(ends[0]);
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

Error NotFound() { return DeviceError("R103", "ptxas is not on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin"); }

}  // namespace

std::string FindPtxas() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    for (const std::string_view folder : Split(path, ':')) folders.emplace_back(folder);
  }
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(Str(home, "/bin"));
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    const std::string candidate = folder + "/ptxas";
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

Result<std::string> PtxasVersion() {
  const std::string program = FindPtxas();
  if (program.empty()) FAIL(NotFound());
  constexpr double kSeconds = 20;
  const ChildOutput output = TRY(RunChild({program, "--version"}, kSeconds));
  const std::vector<std::string_view> lines = Split(Trim(output.text), '\n');
  if (output.timed_out || output.status != 0 || lines.empty())
    FAIL(DeviceError("R105", Str("'", program, " --version': ", Trim(output.text))));
  return std::string(lines.back());
}

Result<PtxasReport> Ptxas(const std::string& ptx, const std::string& arch, double timeout_seconds) {
  const std::string program = FindPtxas();
  if (program.empty()) FAIL(NotFound());
  const TemporaryFiles files;
  TRY(WriteFile(files.ptx, ptx));
  const ChildOutput output =
      TRY(RunChild({program, "-v", "-arch=" + arch, files.ptx, "-o", files.cubin}, timeout_seconds));
  if (output.timed_out) FAIL(DeviceError("R104", Str("ptxas: no answer within ", timeout_seconds, " s")));
  if (output.status != 0) FAIL(DeviceError("R105", Str("ptxas: ", Trim(output.text))));
  std::ifstream cubin(files.cubin, std::ios::binary);
  PtxasReport report{.kernels = KernelsInLog(output.text),
                     .cubin = std::string(std::istreambuf_iterator<char>(cubin), {})};
  if (report.kernels.empty())
    FAIL(DeviceError("R105", Str("the output of ptxas names no kernel: ", Trim(output.text))));
  return report;
}

}  // namespace hlo::kernel
