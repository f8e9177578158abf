"""Network for tools whose spec names hosts. A broker outside of the jail connects, and passes the descriptor to the child."""
