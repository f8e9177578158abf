"""Network for tools whose spec names hosts. A broker outside the jail connects and passes the descriptor to the child."""
