"""What the twins try. Each function does no harm, undoes what it did, and returns only if it got through."""
