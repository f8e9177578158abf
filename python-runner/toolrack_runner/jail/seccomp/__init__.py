"""The system calls a confined child may make, as a program the kernel runs before each of them."""
