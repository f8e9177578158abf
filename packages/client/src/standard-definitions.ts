// Written by `npm run client-definitions` from functions/workflows/tools/defs; a test compares the two.
import type { ToolDefinition } from '@toolrack/contract'

/** The families cli and tasks of the file layer, for a client that has nothing else. */
export const STANDARD_DEFINITIONS: readonly ToolDefinition[] = [
  {
    "type": "function",
    "function": {
      "name": "CREATE_TASK",
      "description": "Add one task to the task list of this session. Use it for work of several steps or for later, not for a step done in this turn. To change a task, use UPDATE_TASK. Returns the stored task with its id. An id that is already taken updates that task, so a repeated call adds no second one.",
      "parameters": {
        "type": "object",
        "properties": {
          "id": {
            "type": "string",
            "description": "Your own id for the task, which makes a retry safe: send the same one again. Leave out to get a generated id. In later calls use the id that came back.",
            "pattern": "^[A-Za-z0-9_-]+$",
            "minLength": 1,
            "maxLength": 128,
            "examples": [
              "migrate-users-table"
            ]
          },
          "title": {
            "type": "string",
            "description": "What is to be done, in one line that starts with a verb.",
            "minLength": 1,
            "maxLength": 200,
            "examples": [
              "Add an index on users.email"
            ]
          },
          "description": {
            "type": "string",
            "description": "Details needed to do the task without this conversation: files, constraints, how to tell that it is done. Plain text or Markdown.",
            "maxLength": 10000
          },
          "status": {
            "type": "string",
            "description": "Queued: not started. In Progress: being worked on. Done: finished and checked. Stuck: cannot go on without help. When planning several tasks, send Queued for all but the first.",
            "enum": [
              "Queued",
              "In Progress",
              "Done",
              "Stuck"
            ],
            "default": "In Progress"
          }
        },
        "required": [
          "title"
        ],
        "additionalProperties": false
      }
    },
    "runner": {
      "kind": "workflow",
      "workflowName": "tools-Tasks"
    },
    "tags": [
      "task",
      "write"
    ],
    "annotations": {
      "title": "Create task",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": false,
      "openWorldHint": false
    },
    "category": "tasks"
  },
  {
    "type": "function",
    "function": {
      "name": "READ_FILE",
      "description": "Read one text file in the workspace, whole or a range of lines. Use it before changing a file; to list folders or search many files, use RUN_COMMAND. Returns the text without added line numbers, its size in bytes, and whether it was truncated. A missing file, a folder or a path outside the workspace is an error.",
      "parameters": {
        "type": "object",
        "properties": {
          "filepath": {
            "type": "string",
            "description": "Path of the file relative to the workspace root, with forward slashes. Absolute paths, `~` and `..` that leaves the workspace are refused.",
            "minLength": 1,
            "maxLength": 1024,
            "examples": [
              "src/index.ts",
              "README.md"
            ]
          },
          "startLine": {
            "type": "integer",
            "description": "First line to return, counted from 1. A value past the last line is an error.",
            "minimum": 1,
            "default": 1,
            "examples": [
              120
            ]
          },
          "endLine": {
            "type": "integer",
            "description": "Last line to return, inclusive; not below startLine. Leave out to read to the end; a value past the end stops there.",
            "minimum": 1,
            "examples": [
              180
            ]
          }
        },
        "required": [
          "filepath"
        ],
        "additionalProperties": false
      }
    },
    "tags": [
      "file",
      "read"
    ],
    "annotations": {
      "title": "Read file",
      "readOnlyHint": true,
      "openWorldHint": false
    },
    "category": "cli"
  },
  {
    "type": "function",
    "function": {
      "name": "RUN_COMMAND",
      "description": "Run one shell command line in the workspace and wait until it ends: tests, builds, searches, git. To read or write one file, use READ_FILE or UPDATE_FILE. Returns the exit code, standard output and standard error, the middle cut out where long. A non-zero exit is a result to read; a command past its timeout is killed.",
      "parameters": {
        "type": "object",
        "properties": {
          "command": {
            "type": "string",
            "description": "The command line; pipes, `&&` and quoting work. Every call is a new shell, so `cd` and exported variables do not last. There is no terminal and no input: pass flags such as `--yes`, start no editor, pager or server.",
            "minLength": 1,
            "maxLength": 32768,
            "examples": [
              "npm test -- --runInBand",
              "git --no-pager log --oneline -n 10"
            ]
          },
          "workingDirectory": {
            "type": "string",
            "description": "Existing folder to run in, relative to the workspace root.",
            "minLength": 1,
            "maxLength": 1024,
            "default": ".",
            "examples": [
              "packages/client"
            ]
          },
          "timeoutSeconds": {
            "type": "integer",
            "description": "Seconds until the command and its child processes are killed. Raise it for slow builds and test suites.",
            "minimum": 1,
            "maximum": 600,
            "default": 60,
            "examples": [
              300
            ]
          }
        },
        "required": [
          "command"
        ],
        "additionalProperties": false
      }
    },
    "tags": [
      "command",
      "shell"
    ],
    "annotations": {
      "title": "Run command",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": false,
      "openWorldHint": true
    },
    "limits": {
      "timeoutSeconds": 610
    },
    "category": "cli"
  },
  {
    "type": "function",
    "function": {
      "name": "UPDATE_FILE",
      "description": "Write one text file in the workspace: create it, with missing parent folders, or replace everything in it. To change a part, read it all and send it all back changed; never write from a partial or truncated read. Returns the path and the bytes written. A folder or a path outside the workspace is an error.",
      "parameters": {
        "type": "object",
        "properties": {
          "filepath": {
            "type": "string",
            "description": "Path of the file relative to the workspace root, with forward slashes. Absolute paths, `~` and `..` that leaves the workspace are refused.",
            "minLength": 1,
            "maxLength": 1024,
            "examples": [
              "docs/notes.md"
            ]
          },
          "content": {
            "type": "string",
            "description": "The complete new text of the file, UTF-8, final newline included. Written exactly as given: no line numbers, no code fence, no diff, no placeholder such as `... rest unchanged`. An empty string empties the file.",
            "maxLength": 200000,
            "examples": [
              "# Notes\n\nFirst line.\n"
            ]
          }
        },
        "required": [
          "filepath",
          "content"
        ],
        "additionalProperties": false
      }
    },
    "tags": [
      "file",
      "write"
    ],
    "annotations": {
      "title": "Write file",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": true,
      "openWorldHint": false
    },
    "category": "cli"
  },
  {
    "type": "function",
    "function": {
      "name": "UPDATE_TASK",
      "description": "Change the title, description or status of one task in this session. Use it as soon as a task is started, finished or stuck. Only the fields you send change, so repeating the call is harmless. Returns the task as stored. An unknown id is an error and creates nothing: use CREATE_TASK for a new task.",
      "parameters": {
        "type": "object",
        "properties": {
          "id": {
            "type": "string",
            "description": "Id of the task, exactly as CREATE_TASK returned it; not its title or position in the list.",
            "minLength": 1,
            "maxLength": 128,
            "examples": [
              "migrate-users-table"
            ]
          },
          "title": {
            "type": "string",
            "description": "New title, one line. Leave out to keep the present one.",
            "minLength": 1,
            "maxLength": 200
          },
          "description": {
            "type": "string",
            "description": "New description; it replaces the whole text, so repeat what should stay. Leave out to keep the present one.",
            "maxLength": 10000
          },
          "status": {
            "type": "string",
            "description": "New status. Queued: not started. In Progress: being worked on. Done: finished and checked. Stuck: cannot go on without help; say why in description. Leave out to keep the present one.",
            "enum": [
              "Queued",
              "In Progress",
              "Done",
              "Stuck"
            ]
          }
        },
        "required": [
          "id"
        ],
        "minProperties": 2,
        "additionalProperties": false
      }
    },
    "runner": {
      "kind": "workflow",
      "workflowName": "tools-Tasks"
    },
    "tags": [
      "task",
      "write"
    ],
    "annotations": {
      "title": "Update task",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": true,
      "openWorldHint": false
    },
    "category": "tasks"
  }
]
