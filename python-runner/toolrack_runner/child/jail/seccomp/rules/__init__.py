"""The system calls that are allowed only with certain arguments, by subject. Their flags and commands are allow-lists.

A seccomp program cannot read flags that are in memory. A call with such flags is either refused (`clone3`, `openat2`,
`sendmsg`), or its flags change only the caller itself: `rt_sigaction`, `sigaltstack`, `rseq`, and the events of `epoll_ctl`.

The constants are from the kernel's headers. If aarch64 has other numbers than x86_64, both are given.
"""
