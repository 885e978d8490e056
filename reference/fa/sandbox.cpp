#include "fa/sandbox.h"

#include <cerrno>
#include <csignal>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace fa {
namespace {

// What the C and C++ libraries, the emulator's threads and Catch2 ask the system for.
constexpr int kAllowed[] = {
    __NR_read,         __NR_write,           __NR_writev,       __NR_close,
    __NR_fstat,        __NR_lseek,           __NR_mmap,         __NR_munmap,
    __NR_mremap,       __NR_mprotect,        __NR_madvise,      __NR_brk,
    __NR_rt_sigaction, __NR_rt_sigprocmask,  __NR_rt_sigreturn, __NR_sigaltstack,
    __NR_futex,        __NR_clock_gettime,   __NR_clock_getres, __NR_gettimeofday,
    __NR_nanosleep,    __NR_clock_nanosleep, __NR_sched_yield,  __NR_sched_getaffinity,
    __NR_getpid,       __NR_gettid,          __NR_getrandom,    __NR_set_robust_list,
    __NR_rseq,         __NR_restart_syscall, __NR_sysinfo,      __NR_exit,
    __NR_exit_group,
};
#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr unsigned kAllow = SECCOMP_RET_ALLOW, kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr unsigned kUnknown = SECCOMP_RET_ERRNO | ENOSYS;  // so that the library falls back from clone3 to clone
constexpr unsigned kThread = CLONE_VM | CLONE_THREAD;

// The filter is a program of its own small machine: it loads a word of the call, compares, and jumps over instructions.
class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }
  void load_argument(unsigned at) {
    load(offsetof(seccomp_data, args) + 8 * at);
  }  // its low word: both are little-endian
  void mask(unsigned bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void answer(unsigned result) { add(BPF_RET | BPF_K, result); }
  void jump_if_equal(unsigned value, std::uint8_t over) { add(BPF_JMP | BPF_JEQ | BPF_K, value, over, 0); }
  void jump_unless_equal(unsigned value, std::uint8_t over) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over); }
  void answer_if_equal(unsigned value, unsigned result) {
    jump_unless_equal(value, 1);
    answer(result);
  }
  bool install() const {
    const sock_fprog program{size_, const_cast<sock_filter*>(code_)};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void add(int code, unsigned operand, std::uint8_t yes = 0, std::uint8_t no = 0) {
    code_[size_++] = {static_cast<std::uint16_t>(code), yes, no, operand};
  }
  sock_filter code_[128];
  std::uint16_t size_ = 0;
};

// Of what root may do, only to pass over the modes of files, as the emulator reads sources. A process may look into one
// that may do more than itself only with a capability for it, which is gone, so the memory of the grader is out of
// reach.
bool give_up_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(__NR_capget, &header, data) != 0) return false;
  constexpr unsigned kKept = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
  const unsigned kept = data[0].permitted & kKept;
  data[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  data[1] = {};
  return syscall(__NR_capset, &header, data) == 0;
}

}  // namespace

int enter_sandbox() {
  if (!give_up_capabilities()) return errno;
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.jump_if_equal(kArchitecture, 1);  // calls of another architecture have other numbers
  program.answer(kRefuse);
  program.load(offsetof(seccomp_data, nr));
  for (const int call : kAllowed) program.answer_if_equal(unsigned(call), kAllow);
  program.answer_if_equal(__NR_clone3, kUnknown);  // its flags lie in memory, where a filter does not look
  program.jump_unless_equal(__NR_clone, 4);        // a thread, but no process
  program.load_argument(0);
  program.mask(kThread);
  program.answer_if_equal(kThread, kAllow);
  program.load(offsetof(seccomp_data, nr));
  program.jump_unless_equal(__NR_openat, 4);  // to read: the emulator looks up the names of arrays in the source
  program.load_argument(2);
  program.mask(O_ACCMODE | O_CREAT | O_TRUNC);
  program.answer_if_equal(O_RDONLY, kAllow);
  program.load(offsetof(seccomp_data, nr));
  program.jump_unless_equal(__NR_tgkill, 6);  // abort() and raise(): a signal to itself, but it must not wait for ever
  program.load_argument(2);
  program.answer_if_equal(SIGSTOP, kRefuse);
  program.load_argument(0);
  program.answer_if_equal(unsigned(getpid()), kAllow);
  program.answer(kRefuse);
  return program.install() ? 0 : errno;
}

}  // namespace fa

#else

namespace fa {

int enter_sandbox() { return ENOSYS; }

}  // namespace fa

#endif
