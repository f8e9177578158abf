import type { JsonValue } from '@toolrack/contract'

/** A request as a page of the documentation shows it. */
export type ExampleRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** A request and the answer that the page shows below it. */
export type HttpExample = { readonly request: ExampleRequest; readonly answer: string }

/** The ```http blocks of a page, in pairs of request and answer. */
export function httpExamples(page: string): readonly HttpExample[] {
  const blocks = [...page.matchAll(/^```http\n(.*?)\n```$/gms)].map(([, text = '']) => text)
  if (blocks.length % 2 === 1) throw new Error('a request is shown without its answer')
  return blocks.flatMap((text, index) =>
    index % 2 === 0 ? { request: parseRequest(text), answer: blocks[index + 1] ?? '' } : [],
  )
}

/** Replaces each `$NAME` by its value. A name without a value is an error of the page. */
export function filledIn(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`nothing before says what $${name} is`)
    return value
  })
}

/**
 * Compares an answer with the one on the page, and keeps the values of its `$NAME`s. `…` matches anything; headers that
 * are not shown may have any value. Every key of JSON must be shown.
 */
export async function expectShown(
  answer: Response,
  shown: string,
  values: Map<string, string>,
): Promise<void> {
  const [head = '', ...rest] = shown.split('\n\n')
  const [status = '', ...headers] = head.split('\n')
  const body = await answer.text()
  if (Number(status.split(' ')[1]) !== answer.status)
    throw new Error(`${status} is shown, not ${answer.status}: ${body}`)
  for (const header of headers) {
    const [, name = '', value = ''] = /^([\w-]+): (.*)$/.exec(header) ?? []
    match(answer.headers.get(name) ?? '', value, name, values)
  }
  const json = rest.join('\n\n')
  if (json === '') return
  matchJson(JSON.parse(body) as JsonValue, JSON.parse(json) as JsonValue, '', values)
}

function parseRequest(text: string): ExampleRequest {
  const [head = '', ...rest] = text.split('\n\n')
  const [line = '', ...headers] = head.split('\n')
  const [method = '', path = ''] = line.split(' ')
  return {
    method,
    path,
    headers: Object.fromEntries(headers.map((header) => header.split(': ', 2))) as Record<string, string>,
    body: rest.length > 0 ? rest.join('\n\n') : undefined,
  }
}

function matchJson(value: JsonValue, shown: JsonValue, at: string, values: Map<string, string>): void {
  if (shown === '…') return
  if (typeof shown === 'string' && typeof value === 'string') return match(value, shown, at, values)
  if (typeof shown !== 'object' || shown === null || typeof value !== 'object' || value === null) {
    if (shown !== value)
      throw new Error(`${at}: ${JSON.stringify(shown)} is shown, not ${JSON.stringify(value)}`)
    return
  }
  const keys = Object.keys(value).toSorted().join()
  const shownKeys = Object.keys(shown).toSorted().join()
  if (keys !== shownKeys) throw new Error(`${at}: the keys ${shownKeys} are shown, not ${keys}`)
  for (const [key, part] of Object.entries<JsonValue>(value))
    matchJson(part, (shown as Record<string, JsonValue>)[key] ?? null, `${at}/${key}`, values)
}

/** Gives each `$NAME` that has no value yet the text at its place in the answer. */
function match(value: string, shown: string, at: string, values: Map<string, string>): void {
  const names: string[] = []
  const pattern = shown.split(/(\$[A-Z_]+|…)/).map((part) => {
    if (part === '…') return '.*'
    if (!part.startsWith('$')) return escaped(part)
    const name = part.slice(1)
    const known = values.get(name)
    if (known !== undefined) return escaped(known)
    names.push(name)
    return '(.+)'
  })
  const found = new RegExp(`^${pattern.join('')}$`, 's').exec(value)
  if (!found) throw new Error(`${at}: ${shown} is shown, not ${value}`)
  for (const [index, name] of names.entries()) values.set(name, found[index + 1] ?? '')
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
