"""Reads, checks and calls one tool module, inside one jailed process. Uses no sockets and nothing of the jail."""
