"""The program that the kernel runs before each system call of a confined child. It decides whether the call is allowed."""
