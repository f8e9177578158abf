"""The runner's version, the same as the service's: a test compares them."""

VERSION = "0.1.0"
