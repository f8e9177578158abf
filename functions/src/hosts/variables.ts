/** Reads the text of a variable, which is undefined if it is not set. Throws a ConfigError with the rule for the text. */
export type ReadVariable<Value> = (text: string | undefined) => Value

type Table = { readonly [name: string]: ReadVariable<unknown> }

export type VariableValues<T extends Table> = { readonly [Name in keyof T]: ReturnType<T[Name]> }

/** Variables have values that are not valid. The message says what is allowed, and never repeats a value. */
export class ConfigError extends Error {}

/** Reads every variable of a table. Throws one ConfigError for all variables that are not valid. */
export function readVariables<T extends Table>(table: T, env: NodeJS.ProcessEnv): VariableValues<T> {
  const faults: string[] = []
  const values = Object.entries(table).map(([name, read]): [string, unknown] => {
    try {
      return [name, read(env[name])]
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      faults.push(`${name} ${error.message}`)
      return [name, undefined]
    }
  })
  if (faults.length > 0) throw new ConfigError(faults.join('; '))
  return Object.fromEntries(values) as VariableValues<T>
}

export const optional: ReadVariable<string | undefined> = (text) => text

/** Reads a variable with `parse`, which returns undefined for a text that breaks `rule`. */
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

/** A text that matches the pattern, or undefined if the variable is not set. */
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

/** Entries that are separated by commas and blanks. Each must match the pattern. */
export function list(pattern = /^/, rule = ''): ReadVariable<readonly string[]> {
  return (value = '') => {
    const entries = value.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
    if (!entries.every((entry) => pattern.test(entry))) throw new ConfigError(rule)
    return entries
  }
}

export function wholeNumber(fallback: number, min: number, max: number): ReadVariable<number> {
  return (value) => {
    const number = value === undefined ? fallback : Number(value.trim() || 'none')
    if (Number.isNaN(number)) throw new ConfigError('must be a number')
    if (!Number.isInteger(number)) throw new ConfigError('must be a whole number')
    if (number < min || number > max) throw new ConfigError(`must be from ${min} to ${max}`)
    return number
  }
}
