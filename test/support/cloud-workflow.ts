/** A YAML value of a workflow definition. */
type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value }
type Step = Readonly<Record<string, { readonly [key: string]: Value }>>
type Definition = Readonly<
  Record<string, { readonly params?: readonly Value[]; readonly steps: readonly Step[] }>
>
type Try = {
  readonly try: { readonly [key: string]: Value }
  readonly retry?: { readonly predicate: string; readonly max_retries: number }
  readonly except: { readonly as: string; readonly steps: readonly Step[] }
}
type Scope = Map<string, unknown>
type Done = { readonly value: unknown }
/** A function that a step can call: a function of the platform, or another subworkflow. */
export type Callable = (args: Readonly<Record<string, unknown>>) => Promise<unknown>

/** The error of a workflow, with the map that `except` gets. */
export class Raised extends Error {
  readonly map: Readonly<Record<string, unknown>>

  constructor(map: Readonly<Record<string, unknown>>) {
    super(String(map['message']))
    this.map = map
  }
}

/**
 * The part of the language of Google Cloud Workflows that the workflows of docs/examples use: assign, call, steps, switch, for, try with
 * retry and except, return and raise, and expressions. Anything else is an error.
 */
export class CloudWorkflow {
  readonly #definition: Definition
  readonly #platform: Readonly<Record<string, Callable>>
  readonly #environment: Readonly<Record<string, string>>

  constructor(
    definition: unknown,
    platform: Readonly<Record<string, Callable>>,
    environment: Readonly<Record<string, string>>,
  ) {
    this.#definition = definition as Definition
    this.#platform = platform
    this.#environment = environment
  }

  /** Runs one of the subworkflows, without the pauses between repetitions. */
  async run(name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
    const workflow = this.#definition[name]
    if (!workflow) throw new Error(`${name} is neither a subworkflow nor a function that the test knows`)
    const scope: Scope = new Map()
    for (const param of workflow.params ?? []) {
      const [[key = '', standard] = []] =
        typeof param === 'string' ? [[param]] : Object.entries(param as object)
      if (!(key in args) && typeof param === 'string') throw new Error(`${name} is called without ${key}`)
      scope.set(key, key in args ? args[key] : standard)
    }
    for (const key of Object.keys(args)) if (!scope.has(key)) throw new Error(`${name} takes no ${key}`)
    return (await this.#steps(workflow.steps, scope))?.value
  }

  async #steps(steps: readonly Step[], scope: Scope): Promise<Done | undefined> {
    for (const step of steps) {
      const [body] = Object.values(step)
      const done = body && (await this.#step(body, scope))
      if (done) return done
    }
    return undefined
  }

  async #step(body: { readonly [key: string]: Value }, scope: Scope): Promise<Done | undefined> {
    if ('assign' in body) {
      this.#assign(body['assign'] as readonly Record<string, Value>[], scope)
      return undefined
    }
    if ('call' in body) return this.#call(body, scope)
    if ('steps' in body) return this.#steps(body['steps'] as readonly Step[], scope)
    if ('switch' in body) return this.#switch(body['switch'] as readonly { condition: string }[], scope)
    if ('for' in body)
      return this.#for(body['for'] as { value: string; in: string; steps: readonly Step[] }, scope)
    if ('try' in body) return this.#try(body as Try, scope)
    if ('raise' in body) throw new Raised(this.#value(body['raise'] ?? null, scope) as Raised['map'])
    if ('return' in body) return { value: this.#value(body['return'] ?? null, scope) }
    throw new Error(`a step of an unknown kind: ${Object.keys(body).join()}`)
  }

  #assign(assignments: readonly Record<string, Value>[], scope: Scope): void {
    for (const assignment of assignments)
      for (const [name, value] of Object.entries(assignment)) scope.set(name, this.#value(value, scope))
  }

  async #call(body: { readonly [key: string]: Value }, scope: Scope): Promise<undefined> {
    const name = body['call'] as string
    const args = this.#value(body['args'] ?? {}, scope) as Record<string, unknown>
    const result = await (this.#platform[name]?.(args) ?? this.run(name, args))
    if (typeof body['result'] === 'string') scope.set(body['result'], result)
  }

  async #switch(branches: readonly { condition: string }[], scope: Scope): Promise<Done | undefined> {
    const branch = branches.find(({ condition }) => this.#value(condition, scope) === true)
    if (!branch) return undefined
    const { condition: _, ...body } = branch
    return this.#step(body, scope)
  }

  async #for(
    loop: { value: string; in: string; steps: readonly Step[] },
    scope: Scope,
  ): Promise<Done | undefined> {
    for (const value of this.#value(loop.in, scope) as readonly unknown[]) {
      scope.set(loop.value, value)
      const done = await this.#steps(loop.steps, scope)
      if (done) return done
    }
    scope.delete(loop.value)
    return undefined
  }

  async #try(body: Try, scope: Scope): Promise<Done | undefined> {
    if (body.retry && body.retry.predicate !== '${http.default_retry_predicate}')
      throw new Error('an unknown predicate')
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#step(body.try, scope)
      } catch (error) {
        if (!(error instanceof Raised)) throw error
        if (retries < (body.retry?.max_retries ?? 0) && isWorthRepeating(error)) continue
        return this.#except(body.except, error, scope)
      }
    }
  }

  /** Variables that `except` creates end with it. */
  async #except({ as, steps }: Try['except'], { map }: Raised, scope: Scope): Promise<Done | undefined> {
    const before = new Set(scope.keys())
    const done = await this.#steps(steps, scope.set(as, map))
    for (const name of scope.keys()) if (!before.has(name)) scope.delete(name)
    return done
  }

  #value(value: Value, scope: Scope): unknown {
    if (typeof value === 'string') {
      const [, expression] = /^\$\{(.*)\}$/s.exec(value) ?? []
      return expression === undefined ? value : this.#evaluate(expression, scope)
    }
    if (Array.isArray(value)) return value.map((item: Value) => this.#value(item, scope))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#value(item, scope)]))
  }

  #evaluate(expression: string, scope: Scope): unknown {
    const names = { ...this.#library(), ...Object.fromEntries(scope) }
    // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- the expressions come from docs/examples
    const evaluate = new Function(
      ...Object.keys(names),
      `'use strict'; return (${javascript(expression)})`,
    ) as (...values: unknown[]) => unknown
    return evaluate(...Object.values(names))
  }

  #library() {
    return {
      orElse: (value: unknown, standard: unknown) => value ?? standard,
      contains: (list: readonly unknown[], value: unknown) => list.includes(value),
      string: String,
      get_type: typeOf,
      map: { get: (map: Readonly<Record<string, unknown>>, key: string) => map[key] ?? null },
      list: { concat: (list: readonly unknown[], value: unknown) => [...list, value] },
      text: {
        split: (text: string, separator: string) => text.split(separator),
        replace_all: (text: string, part: string, by: string) => text.replaceAll(part, by),
      },
      json: { decode: decodeJson },
      sys: {
        get_env: (name: string) => {
          if (!(name in this.#environment)) throw new Error(`${name} is not set`)
          return this.#environment[name]
        },
      },
    }
  }
}

/** True if `http.default_retry_predicate` allows another try after this error. */
function isWorthRepeating({ map }: Raised): boolean {
  const tags = map['tags'] as readonly string[]
  return (
    tags.some((tag) => tag.startsWith('Connection')) || [429, 502, 503, 504].includes(Number(map['code']))
  )
}

function decodeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Raised({ message: 'the text is not JSON', tags: ['ValueError'] })
  }
}

/** The name of a type as `get_type` gives it, for values that JSON can hold. */
function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'map' : typeof value
}

function javascript(expression: string): string {
  return expression
    .replaceAll(/\bdefault\(/g, 'orElse(')
    .replaceAll(/([\w.]+|"\w+") in ([\w.]+)/g, 'contains($2, $1)')
    .replaceAll(/\bnot\(/g, '!(')
    .replaceAll(' == ', ' === ')
    .replaceAll(' != ', ' !== ')
    .replaceAll(' and ', ' && ')
    .replaceAll(' or ', ' || ')
}
