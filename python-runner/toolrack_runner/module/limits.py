"""How large a module, and what it declares, may be."""

SOURCE_BYTES_MAX = 256 * 1024
SPECS_MAX = 50
MODULE_NAME_MAX = 64
DESCRIPTION_CHARS_MAX = 16_384
SCHEMA_BYTES_MAX = 32 * 1024
SCHEMA_DEPTH_MAX = 32
#: Of another field of a spec (examples, annotations), as JSON.
FIELD_BYTES_MAX = 64 * 1024
EXAMPLES_MAX = 20
SECRETS_MAX = 20
HOSTS_MAX = 20
TIMEOUT_SECONDS_MAX = 3_600
#: Levels of a result. Every JSON reader between here and the model allows more.
RESULT_DEPTH_MAX = 100
ERROR_CHARS_MAX = 8_192
