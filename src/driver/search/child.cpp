#include "driver/search/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/crash.h"
#include "base/text.h"

namespace hlo {
namespace {

[[noreturn]] void LiveAsChild(const ChildProcess::Body& body, int commands, int answers, std::FILE* words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  LeaveCrashesToParent();
  for (const int interrupt : {SIGINT, SIGTERM})
    signal(interrupt, SIG_DFL);  // The parent prints the message of an interruption.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (words != nullptr) dup2(fileno(words), STDERR_FILENO);
  std::FILE* const out = fdopen(answers, "w");
  body(commands, out);
  std::fflush(out);
  std::_Exit(0);
}

}  // namespace

std::string ChildEnd::ToString() const {
  if (timed_out) return "no exit within the time limit";
  return signal != 0 ? strsignal(signal) : Str("exit code ", exit);
}

ChildProcess::ChildProcess(const Body& body, const ChildOptions& options) : options_(options) {
  int commands[2] = {-1, -1}, answers[2] = {-1, -1};
  if (options.keeps_words) words_ = std::tmpfile();
  const bool piped = pipe2(commands, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0;
  std::fflush(nullptr);
  if (piped) child_ = fork();
  if (child_ == 0) {
    close(commands[1]);
    close(answers[0]);
    LiveAsChild(body, commands[0], answers[1], words_);
  }
  const int reason = errno;
  if (commands[0] >= 0) close(commands[0]);
  if (answers[1] >= 0) close(answers[1]);
  commands_ = commands[1];
  answers_ = answers[0];
  if (child_ < 0) end_ = ChildEnd{.exit = -1, .words = Str("cannot start a process: ", std::strerror(reason))};
}

ChildProcess::~ChildProcess() {
  if (commands_ >= 0) close(commands_);
  if (answers_ >= 0) close(answers_);
  if (child_ > 0) {
    kill(child_, SIGKILL);  // A closed pipe does not end the child if other processes also hold the pipe open.
    waitpid(child_, nullptr, 0);
  }
  if (words_ != nullptr) std::fclose(words_);
}

bool ChildProcess::Send(char command) const { return !end_ && write(commands_, &command, 1) == 1; }

std::optional<std::string> ChildProcess::ReadLine() {
  ChildProcess* const self = this;
  while (true) {
    if (auto line = TakeLine()) return line;
    if (end_) return std::nullopt;
    WaitForAny({&self, 1});
  }
}

std::optional<std::string> ChildProcess::TakeLine() {
  const size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

void ChildProcess::WaitForAny(std::span<ChildProcess* const> children) {
  std::vector<pollfd> waits;
  int soonest = -1;
  for (const ChildProcess* child : children) {
    if (child->end_) return;
    waits.push_back({child->answers_, POLLIN, 0});
    const int left = child->MillisecondsLeft();
    if (left >= 0) soonest = soonest < 0 ? left : std::min(soonest, left);
  }
  if (poll(waits.data(), waits.size(), soonest) < 0) return;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) children[i]->Read();
    else if (children[i]->MillisecondsLeft() == 0) children[i]->SeeEnd(/*timed_out=*/true);
  }
}

int ChildProcess::MillisecondsLeft() const {
  if (options_.seconds <= 0) return -1;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
  return static_cast<int>(std::max(0.0, 1e3 * (options_.seconds - taken.count())));
}

void ChildProcess::Read() {
  char chunk[4096];
  const ssize_t count = read(answers_, chunk, sizeof chunk);
  if (count > 0) pending_.append(chunk, static_cast<size_t>(count));
  else if (count == 0 || errno != EINTR) SeeEnd(/*timed_out=*/false);
}

void ChildProcess::SeeEnd(bool timed_out) {
  if (timed_out) kill(child_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(child_, -1), &status, 0);
  end_ = ChildEnd{.timed_out = timed_out, .words = WordsText()};
  if (WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
  else end_->exit = WEXITSTATUS(status);
}

std::string ChildProcess::WordsText() const {
  if (words_ == nullptr || std::fseek(words_, 0, SEEK_SET) != 0) return "";
  char chunk[512];
  const size_t count = std::fread(chunk, 1, sizeof chunk, words_);
  const std::string_view words = Trim(std::string_view(chunk, count));
  return Escaped(words.substr(0, words.find('\n')));
}

}  // namespace hlo
