"""The size limits of a module, of its specs and of its results."""

#: The bytes of one file. The service has the same limit, `BODY_BYTES_MAX.single` in `functions/src/http/body-kinds.ts`.
SOURCE_BYTES_MAX = 256 * 1024
#: How many files a module may have. Each is sent, stored, and written into the folder of each call. The service has this
#: limit too.
FILES_MAX = 64
#: The bytes of all files of a module together. They are sent, stored and parsed like one source, with room for data.
FILES_BYTES_MAX = 512 * 1024
#: The characters of a path in a module. Faults and tracebacks show it, and no module needs a longer one.
FILE_PATH_CHARS_MAX = 200
#: How many folders the files of a module may lie in. Each is made in the working folder, whose quota counts it.
FOLDERS_MAX = 64
#: How many tools a module may have, so that its report and its definitions stay small.
SPECS_MAX = 50
#: The characters of the name of a module. A tool name of 128 characters has room for it and the name of a function.
MODULE_NAME_MAX = 64
#: The characters of a tool name. Every tool name of the contract has at most as many.
TOOL_NAME_CHARS_MAX = 128
#: The characters of a description. A definition may have no more.
DESCRIPTION_CHARS_MAX = 16_384
#: The bytes of a schema as JSON. A definition may have no more.
SCHEMA_BYTES_MAX = 32 * 1024
#: The levels of a schema. A definition may have no more.
SCHEMA_DEPTH_MAX = 32
#: The characters of any other field of a spec, such as examples or annotations, as `str` writes it, so that the report stays
#: small.
FIELD_BYTES_MAX = 64 * 1024
#: How many examples a spec may have. A check runs every example of every spec before its deadline.
EXAMPLES_MAX = 20
#: How many secrets a spec may name, so that the list stays small.
SECRETS_MAX = 20
#: How many hosts a spec may name. The list is sent with every call.
HOSTS_MAX = 20
#: The longest deadline of a call, in seconds. A definition may ask for no longer one.
TIMEOUT_SECONDS_MAX = 3_600
#: How many levels of lists and dicts a result may have. The answers of the runner and of the service add at most two levels.
#: Every JSON parser on the way accepts 128 levels or more (orjson writes 254).
RESULT_DEPTH_MAX = 100
#: The characters of a traceback. A longer one is cut in its middle, so that a model can read it.
ERROR_CHARS_MAX = 8_192
