import { ToolrackError } from '@toolrack/contract'

/** A request's query, read strictly: an unknown parameter or value is an error that says what is allowed. */
export class Query {
  readonly #values = new URLSearchParams()

  /** `search` is the part of the address after the `?`. A parameter `x[]` is read as `x`. */
  constructor(search: string, known: readonly string[]) {
    for (const [key, value] of new URLSearchParams(search)) {
      const name = key.endsWith('[]') ? key.slice(0, -2) : key
      if (!known.includes(name)) throw unknownParameter(name, known)
      this.#values.append(name, value)
    }
  }

  /**
   * Reads a query, but ignores unknown parameters. For the routes that the original service, which Toolrack replaces, has too.
   */
  static ofKnown(search: string, known: readonly string[]): Query {
    const sent = new URLSearchParams(search)
    for (const name of new Set(sent.keys())) if (!known.includes(name)) sent.delete(name)
    return new Query(sent.toString(), known)
  }

  all(name: string): readonly string[] {
    return this.#values.getAll(name)
  }

  /**
   * The different values of a parameter, which may be separated by commas. At most `max` are allowed, because the catalog is
   * searched for each of them.
   */
  set(name: string, max: number): ReadonlySet<string> {
    const values = new Set(this.all(name).flatMap((value) => value.split(',').map((entry) => entry.trim())))
    values.delete('')
    if (values.size > max)
      throw invalidParameter(name, `holds ${values.size} values; at most ${max} are allowed`)
    return values
  }

  one(name: string): string | undefined {
    const [value, ...more] = this.all(name)
    if (more.length > 0) throw invalidParameter(name, 'is given more than once')
    return value
  }

  required(name: string): string {
    const value = this.one(name)
    if (value === undefined || value === '') throw invalidParameter(name, 'is missing')
    return value
  }

  choice<const Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
    return this.optional(name, choices) ?? fallback
  }

  optional<const Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.one(name)
    if (value === undefined) return undefined
    const choice = choices.find((allowed) => allowed === value)
    if (choice === undefined) throw invalidParameter(name, `must be ${choices.join(' or ')}`)
    return choice
  }

  flag(name: string): boolean {
    return ['1', 'true'].includes(this.choice(name, ['0', '1', 'false', 'true'], '0'))
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.one(name)
    if (value === undefined) return undefined
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max))
      throw invalidParameter(name, `must be a whole number from ${min} to ${max}`)
    return number
  }
}

export function refuseParameters({ search }: { readonly search: string }): void {
  void new Query(search, [])
}

/** The error for a value of a parameter that is not valid. `fault` says which values are allowed. It never repeats the value. */
export function invalidParameter(parameter: string, fault: string): ToolrackError {
  return new ToolrackError('PARAMETER_INVALID', `The parameter ${parameter} ${fault}.`, {
    details: [{ reason: 'PARAMETER_INVALID', parameter }],
  })
}

function unknownParameter(name: string, known: readonly string[]): ToolrackError {
  const named = /^[A-Za-z_][A-Za-z0-9_.-]{0,40}$/.test(name) ? `The parameter ${name} is` : 'A parameter is'
  const allowed =
    known.length > 0
      ? `known ${known.length > 1 ? 'are' : 'is'} ${known.join(', ')}`
      : 'this route takes none'
  return new ToolrackError('PARAMETER_UNKNOWN', `${named} not known here; ${allowed}.`)
}
