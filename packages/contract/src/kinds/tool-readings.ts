import { isJsonArray, isJsonObject, type JsonObject } from '../json.ts'
import type { ToolClass } from '../rules/tool-classes.ts'
import type { ToolRunner } from '../tool-definition.ts'
import { ARGUMENT_KINDS, type Reading } from './argument-kind.ts'
import { ANY_TEXT, SchemaReader, type TextFacts } from './schema-readings.ts'
import { TEXT_EDITS } from './text-edit.ts'

/** What must be known about a tool to read its arguments. `parameters` is the schema of its arguments. */
export type ReadTool = {
  readonly classes: readonly ToolClass[]
  readonly parameters: JsonObject
  readonly runner?: ToolRunner | undefined
}

/**
 * Tells in which ways the handler of a tool may read the text of each argument (`Reading`). If an argument has none, it takes no
 * text. The readings of each argument are made only once.
 */
export class ToolReadings {
  readonly #known = new Map<string, readonly Reading[]>()
  readonly #reported: (name: string) => Reports
  readonly #runsCode: boolean
  /** Reads the schema. Undefined after the whole schema was read. */
  #schema: SchemaReader | undefined
  #others: TextFacts | undefined

  constructor({ classes, parameters, runner }: ReadTool) {
    this.#schema = new SchemaReader(parameters)
    this.#reported = reportOf(runner)
    this.#runsCode = classes.includes('code_execution')
  }

  /** All arguments that the schema names. */
  get names(): Iterable<string> {
    return this.#schema?.names ?? this.#known.keys()
  }

  declares(name: string): boolean {
    return this.#schema?.names.has(name) ?? this.#known.has(name)
  }

  of(name: string): readonly Reading[] {
    const known = this.#known.get(name)
    if (known) return known
    if (!this.#schema?.names.has(name)) return this.#read(name, this.#factsOfOthers, this.#reported(REST))
    const read = this.#read(name, this.#schema.factsOf(name), this.#reported(name))
    this.#known.set(name, read)
    return read
  }

  /** Reads the whole schema now, so that the schema does not stay in memory. */
  whole(): this {
    for (const name of this.names) this.of(name)
    void this.#factsOfOthers
    this.#schema = undefined
    return this
  }

  get #factsOfOthers(): TextFacts {
    return (this.#others ??= this.#schema?.factsOfOthers ?? ANY_TEXT)
  }

  #read(name: string, facts: TextFacts, reports: Reports): readonly Reading[] {
    return distinct(readingsOf(facts, kindOfName(name, this.#runsCode), reports))
  }
}

/** The name in the runner's report that stands for `**kwargs`. */
const REST = '**'

/**
 * What the runner has reported about an argument. Undefined if it has reported nothing: then the handler gets the text unchanged.
 * `unchecked` if the module was stored by a version that did not read types.
 */
type Reports = readonly string[] | 'unchecked' | undefined

function reportOf(runner: ToolRunner | undefined): (name: string) => Reports {
  if (runner?.kind !== 'python') return () => undefined
  const { kinds } = runner
  if (!isJsonObject(kinds)) return () => 'unchecked'
  return (name) => {
    const reported = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    return isJsonArray(reported) ? reported.map(String) : undefined
  }
}

/** In which ways an argument with this name is read, if nothing else is known about the tool. */
export function readingsOfName(name: string): readonly Reading[] {
  return readingsOfNamed(kindOfName(name, false))
}

function readingsOfNamed(named: Named): readonly Reading[] {
  if (named === 'path') return [PATH_BY_NAME]
  return named === 'path in a document' ? [PATH_BY_NAME, TEXT] : [{ kind: named }]
}

const COMMAND = /^(?:cmd|cmd_?line|command_?line|script|shell|bash|code)$|command$/i
const PATH = /^(?:src|dst)$|path$/i

/** Matches names such as `xpath` and `json_path`. In a path inside of a document, `//` and a slash at the end have a meaning. */
const PATH_IN_DOCUMENT = /(?:x|json|j)_?path$/i

/** What the name of an argument suggests. It is used if the schema does not name a kind. */
type Named = 'path' | 'path in a document' | 'command' | 'text'

function kindOfName(name: string, runsCode: boolean): Named {
  if (PATH.test(name)) return PATH_IN_DOCUMENT.test(name) ? 'path in a document' : 'path'
  return runsCode || COMMAND.test(name) ? 'command' : 'text'
}

function readingsOf(facts: TextFacts, named: Named, reports: Reports): readonly Reading[] {
  const written = readingsOfSchema(facts, named)
  if (reports === undefined) return written
  if (reports === 'unchecked') return written.length === 0 ? [] : [OTHER, ...written]
  const isRead = reports.filter((report) => !report.startsWith('text'))
  return withNamed(
    reports.flatMap((report) => {
      const [kind, edit] = report.split(':')
      if (kind === 'text') return readAsText(written, editNamed(edit), isRead)
      if (kind === 'value') return [VALUE]
      const known = ARGUMENT_KINDS.find((one) => one === kind)
      return known === undefined || known === 'other' ? [OTHER, ...written] : [{ kind: known }]
    }),
    named,
  )
}

/**
 * The readings of an argument if its handler gets a text. The schema names the kinds of the text. If the handler's type names
 * another kind, plain `text` is added.
 */
function readAsText(
  written: readonly Reading[],
  edit: Partial<Reading>,
  others: readonly string[],
): readonly Reading[] {
  const kinds = others.some((other) => !written.some(({ kind }) => kind === other))
    ? [...written, TEXT]
    : written
  return kinds.map((reading) => ({ ...reading, ...edit }))
}

const OTHER: Reading = { kind: 'other' }
const VALUE: Reading = { kind: 'value' }
const TEXT: Reading = { kind: 'text' }
const PATH_BY_NAME: Reading = { kind: 'path', isByName: true }

function editNamed(edit: string | undefined): Partial<Reading> {
  const known = TEXT_EDITS.find((one) => one === edit)
  if (known !== undefined) return { edit: known }
  return edit === undefined ? {} : OTHER
}

function readingsOfSchema(
  { kinds, isPlain, isListed, hasOtherFormat, isUnknown }: TextFacts,
  named: Named,
): readonly Reading[] {
  const found: Reading[] = [...kinds].map((kind) => ({ kind }))
  if (isPlain || isListed) found.push(...readingsOfNamed(named))
  // A text from a list must stay spelled as in the list. A text with another format must stay as it is too, because its meaning
  // is not known.
  const keepsSpelling = isListed || (isPlain && hasOtherFormat)
  if (keepsSpelling && found.some(({ kind }) => kind !== 'command')) found.push(TEXT)
  if (found.length === 0) return []
  return withNamed(isUnknown ? [VALUE, ...found] : found, named)
}

/** If the name suggests that an argument is a path, adds the reading as a path to the other readings. */
function withNamed(readings: readonly Reading[], named: Named): readonly Reading[] {
  const isNew =
    named.startsWith('path') && readings.length > 0 && !readings.some(({ kind }) => kind === 'path')
  return isNew ? [...readings, PATH_BY_NAME] : readings
}

function distinct(readings: readonly Reading[]): readonly Reading[] {
  const found = new Map<string, Reading>()
  for (const one of readings) {
    const key = `${one.kind}:${one.edit ?? ''}`
    found.set(key, { ...found.get(key), ...one })
  }
  return [...found.values()]
}
