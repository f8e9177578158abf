import type { Choices } from './random-choices.ts'
import type { Sort } from './spellings.ts'

/** A handler with one argument of a random type, and the sorts of texts that its type may take. */
export type RandomHandler = {
  readonly name: string
  readonly argument: string
  readonly sorts: readonly Sort[]
  /** True if the argument is a path by its name or by the schema that the author has written. */
  readonly isPath: boolean
  /** True if code of the module reads the argument. */
  readonly hasOwnCode: boolean
  readonly source: string
  readonly spec: string
}

type Made = { readonly type: string; readonly sorts: readonly Sort[]; readonly hasOwnCode?: boolean }

const STANDARD: readonly Made[] = [
  ...[
    'Path',
    'PurePath',
    'FilePath',
    'DirectoryPath',
    'os.PathLike',
    'Annotated[Path, Field(min_length=1)]',
  ].map((type) => ({ type, sorts: ['path'] as const })),
  ...['AnyUrl', 'HttpUrl', 'FtpUrl', 'FileUrl', 'AnyHttpUrl', 'RedisDsn'].map((type) => ({
    type,
    sorts: ['url'] as const,
  })),
  ...['UUID', 'UUID4'].map((type) => ({ type, sorts: ['uuid'] as const })),
  ...['Decimal', 'condecimal(max_digits=40)', 'Annotated[Decimal, Field(ge=-1000)]'].map((type) => ({
    type,
    sorts: ['decimal'] as const,
  })),
  { type: 'date', sorts: ['date'] },
  ...['datetime', 'AwareDatetime', 'NaiveDatetime'].map((type) => ({
    type,
    sorts: ['date-time', 'date'] as const,
  })),
  ...[
    'str',
    'Any',
    'SecretStr',
    "Literal['a', 'SECRET']",
    'Mode',
    'Kind',
    'Annotated[str, Field(max_length=40)]',
  ].map((type) => ({ type, sorts: ['text'] as const })),
  ...[
    'strip_whitespace=True',
    'to_lower=True',
    'to_upper=True',
    'strip_whitespace=True, to_lower=True',
    'strip_whitespace=True, to_upper=True, max_length=90',
  ].map((how) => ({ type: `Annotated[str, StringConstraints(${how})]`, sorts: ['text', 'path'] as const })),
  ...['bytes', 'SecretBytes'].map((type) => ({ type, sorts: ['base64'] as const })),
  ...[
    'time',
    'timedelta',
    'IPv4Address',
    'Fraction',
    'ByteSize',
    'Json',
    'PureWindowsPath',
    'int',
    'bool',
    'list[str]',
  ].map((type) => ({ type, sorts: ['time', 'path'] as const })),
]

/** Changes of a type that leave its values as they are. The names are those of the module around. */
const AROUND: readonly ((made: Made, choices: Choices) => Made)[] = [
  (made) => made,
  (made) => ({ ...made, type: `Optional[${made.type}]` }),
  (made) => ({ ...made, type: `${parenthesised(made.type)} | None` }),
  (made) => ({ ...made, type: `Annotated[${made.type}, Field(description='x')]` }),
  (made, choices) => joined(made, standard(choices), choices),
  (made, choices) => joined(joined(made, standard(choices), choices), standard(choices), choices),
]

/** Wrappers that need a line of their own. */
const NAMED: readonly ((name: string, type: string) => string)[] = [
  (name, type) => `class ${name}(RootModel[${type}]): pass`,
  (name, type) =>
    `class ${name}(RootModel[${type}]):\n    model_config = {'title': 'T'}\n    def shown(self): return str(self.root)`,
  (name, type) => `${name} = NewType('${name}', ${type})`,
  (name, type) => `${name} = TypeAliasType('${name}', ${type})`,
]

const ARGUMENTS = ['value', 'value', 'value', 'path', 'xpath', 'dst', 'url', 'code', 'note_path', 'command']

/** How code of a module may change what it reads. */
const OWN_CODE = [
  'AfterValidator(bent)',
  'BeforeValidator(bent)',
  'WrapValidator(wrapped)',
  'PlainValidator(bent)',
]

const FORMATS = ['path', 'file-path', 'uri', 'uuid', 'date', 'date-time', 'decimal', 'command']

function standard({ oneOf }: Choices): Made {
  return oneOf(STANDARD)
}

function joined(made: Made, other: Made, { chance }: Choices): Made {
  const [first, second] = chance(0.5) ? [made, other] : [other, made]
  return { type: `Union[${first.type}, ${second.type}]`, sorts: [...first.sorts, ...second.sorts] }
}

function parenthesised(type: string): string {
  return type.startsWith('condecimal') || type.startsWith('os.') || /^[A-Za-z]+$/.test(type)
    ? type
    : `(${type})`
}

export function randomHandler(name: string, choices: Choices): RandomHandler {
  const { oneOf, chance } = choices
  const argument = oneOf(ARGUMENTS)
  let made = oneOf(AROUND)(standard(choices), choices)
  const lines: string[] = []
  for (let depth = 0; depth < 2 && chance(0.3); depth += 1) {
    const named = `T${depth}_${name}`
    // How pydantic reads bytes behind the name of a type depends on how often the name is used.
    lines.push(oneOf(made.sorts.includes('base64') ? NAMED.slice(0, -1) : NAMED)(named, made.type))
    made = oneOf(AROUND.slice(0, 4))({ ...made, type: named }, choices)
  }
  const hasOwnCode = chance(0.05)
  if (hasOwnCode) made = { ...made, type: `Annotated[${made.type}, ${oneOf(OWN_CODE)}]` }
  const parameters = chance(0.15) ? written(argument, choices) : undefined
  const key = parameters === undefined ? '' : `, 'parameters': ${parameters.schema}`
  return {
    name,
    argument,
    sorts: [...made.sorts, ...(parameters ? parameters.sorts : [])],
    isPath: /^(?:src|dst)$|path$/i.test(argument) || (parameters?.isPath ?? false),
    hasOwnCode: hasOwnCode && parameters === undefined,
    source: [
      ...lines,
      `def ${name}(${argument}: ${made.type}) -> str:`,
      '    "Reads a value."',
      "    return ''",
    ].join('\n'),
    spec: `{'name': 'MODULE:${name}', 'handler': ${name}${key}}`,
  }
}

/** Parameters that the author writes, with the format somewhere in the schema. */
function written(argument: string, { oneOf }: Choices) {
  const format = oneOf(FORMATS)
  const value = `{'type': 'string', 'format': '${format}'}`
  const property = `'properties': {'${argument}': ${value}}`
  const schema = oneOf([
    `{'type': 'object', 'required': ['${argument}'], ${property}}`,
    `{'type': 'object', 'required': ['${argument}'], 'properties': {'${argument}': {'$ref': '#/$defs/V'}}, '$defs': {'V': ${value}}}`,
    `{'type': 'object', 'required': ['${argument}'], 'allOf': [{${property}}]}`,
    `{'type': 'object', 'required': ['${argument}'], 'properties': {'${argument}': {'anyOf': [${value}, {'type': 'null'}]}}}`,
    `{'type': 'object', 'required': ['${argument}'], 'properties': {'${argument}': {'oneOf': [{'type': 'integer'}, {'allOf': [${value}]}]}}}`,
    `{'type': 'object', 'required': ['${argument}'], 'properties': {'${argument}': {'anyOf': [${value}, {'$ref': '#/properties/${argument}'}]}}}`,
    `{'type': 'object', 'required': ['${argument}'], 'properties': {'${argument}': {'anyOf': [${value}, {'type': 'string'}]}}}`,
  ])
  const sort: Sort =
    format === 'uri'
      ? 'url'
      : format.endsWith('path')
        ? 'path'
        : format === 'command'
          ? 'text'
          : (format as Sort)
  return { schema, sorts: [sort] as const, isPath: sort === 'path' && !schema.includes("{'type': 'string'}") }
}

export function moduleSource(name: string, handlers: readonly RandomHandler[]): string {
  const specs = handlers.map(({ spec }) => `    ${spec.replace('MODULE', name)},`)
  return [HEAD, ...handlers.map(({ source }) => source), 'TOOL_SPECS = [', ...specs, ']'].join('\n\n')
}

const HEAD = `
import os
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path, PurePath, PureWindowsPath
from typing import Annotated, Any, Literal, NewType, Optional, Union
from uuid import UUID
from pydantic import *
from typing_extensions import TypeAliasType

class Mode(Enum):
    FAST = 'secret'
    SLOW = 'a'

class Kind(StrEnum):
    ONE = 'SECRET'
    TWO = '1'

def bent(value):
    return value

def wrapped(value, read):
    return read(value)
`
