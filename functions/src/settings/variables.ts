import { harmless } from '../log.ts'

/** The type that a value has in a configuration file. A path is relative to the folder of this file. */
export type FileType = 'text' | 'whole number' | 'list of texts' | 'object' | 'path' | 'number or text'

/** Reads the text of a variable, which is undefined if it is not set. Throws a ConfigError with the rule for the text. */
export type ReadVariable<Value> = {
  (text: string | undefined): Value
  readonly fileType?: FileType
  /** Why the configuration file cannot have this variable. The text is the end of a sentence. */
  readonly notInFile?: string
}

export type Table = { readonly [name: string]: ReadVariable<unknown> }

export type VariableValues<T extends Table> = { readonly [Name in keyof T]: ReturnType<T[Name]> }

/** A text that one source gives to a variable. */
export type Setting = {
  readonly name: string
  readonly text: string
  /** The source of the text, such as `environment`. */
  readonly from: string
  /**
   * How a sentence about a fault of the text begins: with the name of the variable, or with the file, the line and the JSON
   * Pointer.
   */
  readonly place: string
}

/**
 * The error for variables with values that are not valid. Each fault says what is allowed. It never repeats a value, except a
 * name in a list of names that are no secrets.
 */
export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(...faults: readonly string[]) {
    super(faults.join('; '))
    this.faults = faults
  }
}

/** The error as text for the operator: one sentence, or a line for each fault. */
export function configFaults({ faults }: ConfigError): string {
  const what = 'The configuration cannot be used:'
  if (faults.length === 1) return harmless(`${what} ${faults[0]}.`)
  return [what, ...faults.map((fault) => `  ${harmless(fault)}`)].join('\n')
}

/** The value that a variable has in the end, and the source that it comes from. `text` is missing if the value is the default. */
export type InForce = { readonly value: unknown; readonly text?: string; readonly from: string }

export type ReadSettings<T extends Table> = {
  /** The values of all variables. If there are faults, some values are missing. */
  readonly values: VariableValues<T>
  /** The values that count in the end, by variable. If the last text of a variable has a fault, the variable is missing. */
  readonly inForce: ReadonlyMap<string, InForce>
  readonly faults: readonly string[]
}

/** Reads every variable of a table. If a variable has several settings, the last one counts, but all of them must be valid. */
export function readVariables<T extends Table>(table: T, settings: readonly Setting[]): ReadSettings<T> {
  const faults: string[] = []
  const inForce = new Map<string, InForce>()
  for (const [name, read] of Object.entries(table)) {
    inForce.set(name, { value: read(undefined), from: 'default' })
    for (const { text, from, place } of settings.filter((setting) => setting.name === name))
      try {
        inForce.set(name, { value: read(text), text, from })
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        inForce.delete(name)
        faults.push(`${place} ${error.message}`)
      }
  }
  const values = Object.fromEntries(Array.from(inForce, ([name, { value }]) => [name, value]))
  return { values: values as VariableValues<T>, inForce, faults }
}

/** The settings that an environment contains. A variable with an empty text counts as not set. */
export function environmentSettings(env: NodeJS.ProcessEnv, commandLine: readonly string[] = []): Setting[] {
  return Object.entries(env).flatMap(([name, text]) => {
    const from = commandLine.includes(name) ? 'command line' : 'environment'
    return text ? [{ name, text, from, place: name }] : []
  })
}

export const optional: ReadVariable<string | undefined> = (text) => text

/** Reads the variable like `read`. In the configuration file, its value has this type instead of text. */
export function inFile<Value>(fileType: FileType, read: ReadVariable<Value>): ReadVariable<Value> {
  return Object.assign((text: string | undefined) => read(text), { fileType })
}

/** Reads the variable like `read`. The configuration file cannot have this variable, for the given reason. */
export function notInFile<Value>(reason: string, read: ReadVariable<Value>): ReadVariable<Value> {
  return Object.assign((text: string | undefined) => read(text), { notInFile: reason })
}

/** Makes the reader of a variable. `parse` returns undefined for a text that breaks `rule`. */
export function parsed<Value>(
  parse: (text: string) => Value | undefined,
  rule: string,
): ReadVariable<Value | undefined> {
  return (text) => {
    if (text === undefined) return undefined
    const value = parse(text)
    if (value === undefined) throw new ConfigError(rule)
    return value
  }
}

/** Reads a text that must match the pattern. The value is undefined if the variable is not set. */
export function matching(pattern: RegExp, rule: string): ReadVariable<string | undefined> {
  return parsed((text) => (pattern.test(text) ? text : undefined), rule)
}

export function text(fallback: string, lengthMax = Infinity): ReadVariable<string> {
  const rule = `must have at most ${lengthMax} characters`
  const read = parsed((value) => (value.length <= lengthMax ? value : undefined), rule)
  return (value) => read(value) ?? fallback
}

export function choice<const Choice extends string>(
  choices: readonly Choice[],
  fallback: Choice,
): ReadVariable<Choice> {
  const read = parsed((value) => choices.find((one) => one === value), `must be ${choices.join(' or ')}`)
  return (value) => read(value) ?? fallback
}

/** Reads a list whose entries are separated by commas. Blanks around an entry are ignored. Each entry must match the pattern. */
export function list(pattern = /^/, rule = ''): ReadVariable<readonly string[]> {
  return inFile('list of texts', (value = '') => {
    const entries = value.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
    if (!entries.every((entry) => pattern.test(entry))) throw new ConfigError(rule)
    return entries
  })
}

export function wholeNumber(fallback: number, min: number, max: number): ReadVariable<number> {
  return inFile('whole number', (value) => {
    const number = value === undefined ? fallback : Number(value.trim() || 'none')
    if (Number.isNaN(number)) throw new ConfigError('must be a number')
    if (!Number.isInteger(number)) throw new ConfigError('must be a whole number')
    if (number < min || number > max) throw new ConfigError(`must be from ${min} to ${max}`)
    return number
  })
}
