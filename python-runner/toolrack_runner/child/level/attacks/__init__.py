"""The attacks of the probes. Each function does no harm, undoes what it did, and returns only if it succeeded."""
