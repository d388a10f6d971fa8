// Ends the process with a message if the processor lacks x86-64-v3, for which all other files are compiled (Makefile).
// The loader runs the check before all constructors, also those in shared libraries, so it uses only system calls.
#include <sys/syscall.h>

#include <iterator>

#if defined(__AVX__) && !defined(__clang_analyzer__)
#error "processor_check.cpp runs on every x86-64: compile it without -march"
#endif

namespace {

constexpr char kMessage[] =
    "hlo: error: [R101] this processor is older than x86-64-v3 (AVX2, FMA, F16C, BMI), which hlo is compiled for\n";
constexpr long kExitDevice = 6, kStandardError = 2;

long SystemCall(long number, long a, const void* b, long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

// Not instrumented, because the sanitizers are not initialised yet.
[[gnu::no_sanitize("address", "undefined")]] void CheckProcessor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) return;
  SystemCall(SYS_write, kStandardError, kMessage, std::size(kMessage) - 1);
  SystemCall(SYS_exit_group, kExitDevice, nullptr, 0);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const check_processor)() = CheckProcessor;

}  // namespace
