"""The attacks that probes try. Each function does no harm, undoes what it did, and returns only if the attack succeeded."""
