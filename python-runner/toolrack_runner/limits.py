"""The size limits of a module, of its specs and of its results."""

#: The service has the same limit, `BODY_BYTES_MAX.single` in `functions/src/http/read-body.ts`.
SOURCE_BYTES_MAX = 256 * 1024
#: The limits of a module of several files. The service has them too (`tools/modules`).
FILES_MAX = 64
FILES_BYTES_MAX = 512 * 1024
FILE_PATH_CHARS_MAX = 200
#: How many folders the files of a module may lie in. Each is made in the working folder, whose quota counts it.
FOLDERS_MAX = 64
SPECS_MAX = 50
MODULE_NAME_MAX = 64
TOOL_NAME_CHARS_MAX = 128
DESCRIPTION_CHARS_MAX = 16_384
SCHEMA_BYTES_MAX = 32 * 1024
SCHEMA_DEPTH_MAX = 32
#: The length of any other field of a spec, such as examples or annotations, when it is written out by `str`.
FIELD_BYTES_MAX = 64 * 1024
EXAMPLES_MAX = 20
SECRETS_MAX = 20
HOSTS_MAX = 20
TIMEOUT_SECONDS_MAX = 3_600
#: How many levels of lists and dicts a result may have. The answers of the runner and of the service add at most two levels.
#: Every JSON parser on the way accepts 128 levels or more (orjson writes 254).
RESULT_DEPTH_MAX = 100
ERROR_CHARS_MAX = 8_192
