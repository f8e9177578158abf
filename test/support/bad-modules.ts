/** A module with one spec. `fields` replace the fields of the spec. The value `None` removes a field. */
function withSpec(fields: Readonly<Record<string, string>>, before = ''): string {
  const own = { name: '"notes:run"', description: '"Runs."', handler: 'run', ...fields }
  const spec = Object.entries(own).flatMap(([key, value]) => (value === 'None' ? [] : `"${key}": ${value}`))
  return `def run(a, b=2):\n    return a\n${before}\nTOOL_SPECS = [{${spec.join(', ')}}]\n`
}

export type Bad = {
  readonly kind: string
  readonly source: string | Uint8Array
  readonly code?: string
  readonly message: RegExp
  readonly name?: string
}

export const SPECS = 'TOOL_SPECS = []\n'
export const broken = { code: 'MODULE_BROKEN' } as const

/** One module for each kind of fault in docs/reference/module-faults.md, with the message that its author reads. */
export const BAD: readonly Bad[] = [
  {
    kind: 'module_name_invalid',
    name: 'we-ather',
    source: SPECS,
    message: /no module name .* Rename the file/,
  },
  { kind: 'module_name_invalid', name: 'class', source: SPECS, message: /no Python keyword/ },
  {
    kind: 'module_name_invalid',
    name: 'n'.repeat(129),
    source: SPECS,
    message: /^the file: .*Rename the file/,
  },
  { kind: 'module_name_invalid', name: 'a/b', source: SPECS, message: /Rename the file/ },
  { kind: 'module_name_taken', name: 'json', source: SPECS, message: /standard library.*Rename it/ },
  {
    kind: 'source_not_utf8',
    source: Buffer.from('x = 1\ny = "é"\n', 'latin1'),
    message: /^notes\.py, line 2: byte 0xE9 is not UTF-8\. Save the file as UTF-8\./,
  },
  { kind: 'source_has_nul', source: 'x = 1\n\0', message: /^notes\.py, line 2: .*NUL byte\. Remove it/ },
  { ...broken, kind: 'syntax_error', source: 'x = 1\ndef :\n', message: /^notes\.py, line 2/ },
  {
    ...broken,
    kind: 'source_too_nested',
    source: `x = ${'-'.repeat(100_000)}1\n${SPECS}`,
    message: /nested/,
  },
  {
    kind: 'head_invalid',
    source: `# /// script\n# [tool.uv]\n# ///\n${SPECS}`,
    message: /^notes\.py, line 2: \[tool\.uv\] has no effect here/,
  },
  {
    kind: 'requirement_invalid',
    source: `# /// script\n# dependencies = ["x @ git+https://example.com/x"]\n# ///\n${SPECS}`,
    message: /^notes\.py, line 2: .* Name only the package and its versions/,
  },
  {
    kind: 'python_unsupported',
    source: `# /// script\n# requires-python = ">=9"\n# dependencies = ["x"]\n# ///\n${SPECS}`,
    message: /^notes\.py, line 2: .*Python/,
  },
  { ...broken, kind: 'specs_missing', source: '', message: /there is no TOOL_SPECS/ },
  {
    ...broken,
    kind: 'specs_missing',
    source: 'TOOL_SPEC = []\n',
    message: /Did you misspell it as 'TOOL_SPEC'/,
  },
  { ...broken, kind: 'specs_not_a_list', source: 'TOOL_SPECS = {}\n', message: /TOOL_SPECS is a dict/ },
  { kind: 'specs_empty', source: SPECS, message: /Add a spec/ },
  { kind: 'specs_too_many', source: 'TOOL_SPECS = [{}] * 51\n', message: /has 51 specs; at most 50/ },
  {
    ...broken,
    kind: 'import_raised',
    source: `x = 1\n1 / 0\n${SPECS}`,
    message: /^notes\.py, line 2: .*ZeroDivisionError/,
  },
  {
    ...broken,
    kind: 'import_not_installed',
    source: `import not_there_a\nimport not_there_b\n${SPECS}`,
    message: /imports 'not_there_a', which is not installed/,
  },
  {
    ...broken,
    kind: 'import_sibling_missing',
    source: `from . import helpers\n${SPECS}`,
    message: /^notes\.py, line 1: the module is one file, .* as several files\.$/,
  },
  {
    ...broken,
    kind: 'import_exited',
    source: `exit()\n${SPECS}`,
    message: /calls exit\(\)\. Remove the call/,
  },
  {
    ...broken,
    kind: 'import_denied',
    source: `import socket\nsocket.socket()\n${SPECS}`,
    message: /line 2: .*The sandbox has no network/,
  },
  {
    ...broken,
    kind: 'import_denied',
    source: `import os\nos.fork()\n${SPECS}`,
    message: /The sandbox starts no processes/,
  },
  {
    code: 'MEMORY_LIMIT',
    kind: 'import_memory',
    source: `x = bytearray(1 << 40)\n${SPECS}`,
    message: /more memory.*inside a handler/,
  },
  {
    code: 'DISK_LIMIT',
    kind: 'import_disk',
    source: `f = open("big", "wb")\nfor _ in range(600): f.write(b"x" * (1 << 20))\n${SPECS}`,
    message: /Write less|disk quota/,
  },
  {
    ...broken,
    kind: 'import_crashed',
    source: `import os\nos.abort()\n${SPECS}`,
    message: /ended its process/,
  },
  {
    kind: 'spec_not_a_dict',
    source: 'TOOL_SPECS = [1]\n',
    message: /TOOL_SPECS\[0\] is an int\. Write a dict/,
  },
  {
    kind: 'name_invalid',
    source: withSpec({ name: '"notes:r un"' }),
    message: /^notes\.py, line \d+: .*this name is not allowed/,
  },
  {
    kind: 'name_prefix',
    source: withSpec({ name: '"other:run"' }),
    message: /named after its file\. Write 'notes:run'/,
  },
  {
    kind: 'description_invalid',
    source: withSpec({ description: 'None' }),
    message: /no docstring\. Say what the tool does/,
  },
  { kind: 'handler_missing', source: withSpec({ handler: 'None' }), message: /it has no handler/ },
  {
    kind: 'handler_not_callable',
    source: withSpec({ handler: '"run"' }),
    message: /is a str, which can't be called/,
  },
  { kind: 'handler_is_a_class', source: withSpec({ handler: 'Exception' }), message: /Give a function/ },
  {
    kind: 'handler_unbound',
    source: withSpec({ handler: 'C.run' }, 'class C:\n    def run(self): ...\n'),
    message: /wants 'self'/,
  },
  {
    kind: 'handler_positional_only',
    source: withSpec({ handler: 'lambda a, /: a' }),
    message: /takes 'a' by position only/,
  },
  {
    kind: 'handler_unreadable',
    source: withSpec({ handler: 'dict(a=1).update' }),
    message: /signature of update can't be read/,
  },
  {
    kind: 'parameters_invalid',
    source: withSpec({ parameters: '{"type": "string"}' }),
    message: /Write 'type': 'object'/,
  },
  {
    kind: 'parameters_too_large',
    source: withSpec({
      parameters: '{"properties": {"a": {"description": "x" * 32_768}}, "required": ["a"]}',
    }),
    message: /at most 32,768/,
  },
  {
    kind: 'parameters_contradict',
    source: withSpec({ parameters: '{"properties": {"c": {}}}' }),
    message: /have 'c', but run takes 'a' and 'b'/,
  },
  {
    kind: 'parameters_underivable',
    source: withSpec({ handler: 'typed' }, 'import threading\ndef typed(a: threading.Lock): ...\n'),
    message: /'notes:run'/,
  },
  {
    kind: 'field_invalid',
    source: withSpec({ timeoutSeconds: '"5"' }),
    message: /timeoutSeconds is not a number above 0/,
  },
  {
    kind: 'field_invalid',
    source: withSpec({ onFailure: '"retry"' }),
    message: /onFailure is not a dict\. Write \{'retry': \{'times': 2\}\}/,
  },
  {
    code: 'DEFINITION_INVALID',
    kind: 'field_invalid',
    source: withSpec({ onFailure: '{"fallbackTools": [{"name": "notes:other", "args": {"x": "c"}}]}' }),
    message: /\/onFailure\/fallbackTools\/0\/args\/x is not a parameter of this tool/,
  },
  {
    kind: 'field_invalid',
    source: withSpec({ reuse: '1_001' }),
    message: /reuse is neither True nor a whole number from 1 to 1,000\. Write True if/,
  },
  {
    kind: 'field_invalid',
    source: withSpec({ network: '["api.example.com", "10.0.0.1:8080"]' }),
    message: /network\[1\] is a numeric address.*Write a host name that leads there/,
  },
  {
    kind: 'examples_invalid',
    source: withSpec({ examples: '[{"argument": {}}]' }),
    message: /Did you mean 'arguments'/,
  },
]
