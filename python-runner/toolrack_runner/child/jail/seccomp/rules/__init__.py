"""The system calls that are allowed only with certain arguments, by subject. Flags, commands and operations are allow-lists.

Flags that are in memory cannot be read by a seccomp program. A call with such flags is either refused (`clone3`, `openat2`,
`sendmsg`), or its flags change only the caller itself: `rt_sigaction`, `sigaltstack`, `rseq`, and the events of `epoll_ctl`.

The constants come from the kernel's headers. Where aarch64 has other numbers than x86_64, both are given.
"""
