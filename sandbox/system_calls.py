"""The system calls that a kernel may make, with their numbers on each machine.

What Python, its scientific packages, threads, subprocesses and package installers use. All others are left out: those
that administrate, trace, or reach far into the machine's kernel; those that allot memory no process is charged for
(memfd_create, System V and POSIX queues, vmsplice, io_setup); those that use up what one user of the host has only so
many of (inotify_init); and flock and sync, by which a reader acts on the host's own files. So does a read lock by
fcntl (F_SETLK), which remains: SQLite cannot do without, and no filter can tell whose file a descriptor stands for. Who
writes to a file that sandboxes are shown (the host's Python and its packages) should not rely on locks of this kind,
and two kernels can tell each other something by them (docs/sandbox.md, "What kernels share").
"""

_TABLE = """
# files by descriptor
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
pwritev2 328 287, close 3 57, close_range 436 436, lseek 8 62, dup 32 23, dup2 33 -,
dup3 292 24, ioctl 16 29, fsync 74 82, fdatasync 75 83, sync_file_range 277 84, ftruncate 77 46,
fallocate 285 47, copy_file_range 326 285, sendfile 40 71, fstat 5 80,
fstatfs 138 44, fchmod 91 52, fchown 93 55, fchdir 81 50, getdents 78 -, getdents64 217 61,
# files by name
open 2 -, openat 257 56, openat2 437 437, creat 85 -, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291,
statfs 137 43, access 21 -, faccessat 269 48, faccessat2 439 439, getcwd 79 17, chdir 80 49, mkdir 83 -,
mkdirat 258 34, rmdir 84 -, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37,
unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -, readlinkat 267 78, mknod 133 -,
mknodat 259 33, chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -, lchown 94 -, fchownat 260 54,
truncate 76 45, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, umask 95 166, getxattr 191 8,
lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196 13, setxattr 188 5,
lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
# waiting
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20,
epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19,
signalfd 282 -, signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87,
pipe 22 -, pipe2 293 59,
# sockets
bind 49 200, listen 50 201, accept 43 202, accept4 288 242, connect 42 203, shutdown 48 210,
getsockname 51 204, getpeername 52 205, getsockopt 55 209, sendto 44 206, sendmsg 46 211, sendmmsg 307 269,
recvfrom 45 207, recvmsg 47 212, recvmmsg 299 243,
# memory
brk 12 214, munmap 11 215, mremap 25 216, mprotect 10 226, msync 26 227, mlock 149 228,
mlock2 325 284, munlock 150 229, mlockall 151 230, munlockall 152 231, get_mempolicy 239 236,
membarrier 324 283, pkey_alloc 330 289, pkey_free 331 290, pkey_mprotect 329 288, mseal 462 462,
# processes
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, exit 60 93, exit_group 231 94, wait4 61 260,
waitid 247 95, getpid 39 172, getppid 110 173, gettid 186 178, getpgid 121 155, getpgrp 111 -, setpgid 109 154,
getsid 124 156, setsid 112 157, kill 62 129, tkill 200 130, tgkill 234 131, pidfd_open 434 434,
pidfd_send_signal 424 424, prctl 157 167, arch_prctl 158 -, set_tid_address 218 96, getrlimit 97 163,
setrlimit 160 164, getrusage 98 165, times 100 153, getpriority 140 141,
# users
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150,
getgroups 115 158, setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147,
setresgid 119 149, setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capget 125 90, capset 126 91,
# threads
futex 202 98, futex_waitv 449 449, futex_wait 455 455, futex_wake 454 454, futex_requeue 456 456,
set_robust_list 273 99, get_robust_list 274 100, rseq 334 293, sched_yield 24 124, sched_getaffinity 204 123,
sched_getscheduler 145 120, sched_getparam 143 121, sched_getattr 315 275, sched_get_priority_max 146 125,
sched_get_priority_min 147 126, sched_rr_get_interval 148 127, getcpu 309 168,
# signals
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigpending 127 136, rt_sigreturn 15 139, rt_sigsuspend 130 133,
rt_sigtimedwait 128 137, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, sigaltstack 131 132, pause 34 -,
restart_syscall 219 128,
# time
time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
nanosleep 35 101, alarm 37 -, getitimer 36 102, setitimer 38 103, timer_create 222 107, timer_settime 223 110,
timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
# the machine
uname 63 160, sysinfo 99 179, getrandom 318 278,
# looked at
socket 41 198, socketpair 53 199, setsockopt 54 208, clone 56 220, mmap 9 222, prlimit64 302 261,
sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,
setpriority 141 140, fcntl 72 25, madvise 28 233, preadv2 327 286, fadvise64 221 223, readahead 187 213,
"""
"""Name, number on x86_64, number on aarch64 (`-`: does not exist there), by topic. Source: Linux, unistd_64.h and
asm-generic/unistd.h; since 5.x both count on together, which makes the newest ones the same."""

MACHINES = ("x86_64", "aarch64")


def numbers(machine: str) -> dict[str, int]:
    """The numbers of the allowed calls by name, for one of `MACHINES`."""
    column = 1 + MACHINES.index(machine)
    lines = (line for line in _TABLE.splitlines() if not line.startswith("#"))
    rows = [row.split() for line in lines for row in line.split(",") if row.strip()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
