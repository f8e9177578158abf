"""The size limits of a module, of its specs and of its results."""

#: The most bytes of one file. The service has the same limit, `BODY_BYTES_MAX.single` in `functions/src/http/body-kinds.ts`.
SOURCE_BYTES_MAX = 256 * 1024
#: How many files a module may have. Each of them is sent, stored, and written into the folder of each call. The service has
#: the same limit.
FILES_MAX = 64
#: The most bytes of all files of a module together. This is twice the limit of one file, so that there is room for data.
FILES_BYTES_MAX = 512 * 1024
#: The most characters of a path in a module. Faults and tracebacks show the path.
FILE_PATH_CHARS_MAX = 200
#: How many folders the files of a module may lie in. Each folder counts against the quota of the working folder.
FOLDERS_MAX = 64
#: How many tools a module may have, so that its report and its definitions stay small.
SPECS_MAX = 50
#: The most characters of a module name. A tool name of 128 characters has room for a module name and a function name.
MODULE_NAME_MAX = 64
#: The most characters of a tool name. The contract has the same limit.
TOOL_NAME_CHARS_MAX = 128
#: The most characters of a description. A definition has the same limit.
DESCRIPTION_CHARS_MAX = 16_384
#: The most bytes of a schema as JSON. A definition has the same limit.
SCHEMA_BYTES_MAX = 32 * 1024
#: The most levels of a schema. A definition has the same limit.
SCHEMA_DEPTH_MAX = 32
#: The most characters of any other field of a spec, such as `examples`. They are counted in the text that `str` makes of it.
#: The limit keeps the report small.
FIELD_BYTES_MAX = 64 * 1024
#: How many examples a spec may have. A check runs every example of every spec before its deadline.
EXAMPLES_MAX = 20
#: How many secrets a spec may name, so that the list stays small.
SECRETS_MAX = 20
#: How many hosts a spec may name. The list is sent with every call.
HOSTS_MAX = 20
#: The longest deadline of a call, in seconds. A definition has the same limit.
TIMEOUT_SECONDS_MAX = 3_600
#: The greatest limits of calls that a spec may have. The service enforces them, and has the same bounds.
CALL_LIMITS_MAX = {"callsPerMinute": 100_000, "concurrent": 1_000}
#: How many levels of lists and dicts a result may have. The answers of the runner and of the service add at most two. Every
#: JSON parser that reads the result accepts 128 levels or more (orjson writes 254).
RESULT_DEPTH_MAX = 100
#: The most characters of a traceback. The middle of a longer traceback is left out, so that a model can read it.
ERROR_CHARS_MAX = 8_192
