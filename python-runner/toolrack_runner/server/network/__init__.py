"""Network for tools whose spec names hosts: a broker outside the jail connects, and passes the descriptor to the child."""
