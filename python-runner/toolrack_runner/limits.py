"""How large a module, what it declares and what it returns may be."""

SOURCE_BYTES_MAX = 256 * 1024
SPECS_MAX = 50
MODULE_NAME_MAX = 64
TOOL_NAME_CHARS_MAX = 128
DESCRIPTION_CHARS_MAX = 16_384
SCHEMA_BYTES_MAX = 32 * 1024
SCHEMA_DEPTH_MAX = 32
#: Of another field of a spec (examples, annotations), as JSON.
FIELD_BYTES_MAX = 64 * 1024
EXAMPLES_MAX = 20
SECRETS_MAX = 20
HOSTS_MAX = 20
TIMEOUT_SECONDS_MAX = 3_600
#: Levels of a result. The answers of the runner and the service put it at most two levels deeper, and every reader of JSON
#: on the way takes 128 or more (orjson writes 254).
RESULT_DEPTH_MAX = 100
ERROR_CHARS_MAX = 8_192
