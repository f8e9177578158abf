import { afterAll } from '@jest/globals'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { until } from './until.ts'
import { PYTHON } from './runner-environment.ts'
import { Server } from './server.ts'
import type { ServerOptions } from './server.ts'

/**
 * Starts the embedded server with the real runner, and waits until the runner is ready. `headers` are sent with the
 * requests for the runner's state. They are needed if the server has no local token.
 */
export async function serverWithRunner(
  options: ServerOptions = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const server = await Server.start({ ...options, args: [`--python=${PYTHON}`] })
  await runnerReady(server, headers)
  return server
}

/** Waits until the runner of the server is ready. */
export async function runnerReady(
  server: Server,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const health = async () => (await server.fetch('/health', { headers })).json()
  await until(
    async () => (await health()) as { runner: { status: string } },
    ({ runner }) => runner.status === 'ready',
  )
}

/** One such server for all tests of a suite. The first test starts it. Without a Python no test runs, so it never starts. */
export function sharedServerWithRunner(...given: Parameters<typeof serverWithRunner>): () => Promise<Server> {
  let starting: Promise<Server> | undefined
  afterAll(async () => (await starting)?.[Symbol.asyncDispose]())
  return () => (starting ??= serverWithRunner(...given))
}

/** A module of test/python-runner/modules. */
export function fixtureModule(name: string): string {
  return readFileSync(new URL(`../python-runner/modules/${name}.py`, import.meta.url), 'utf8')
}

/** A module with a tool for each function. The tool returns its argument `text`. */
export function moduleOf(name: string, ...functions: readonly string[]): string {
  const handlers = functions.map(
    (each) => `def ${each}(text: str) -> str:\n    """Gives the text back."""\n    return text\n`,
  )
  const specs = functions.map((each) => `    {"name": "${name}:${each}", "handler": ${each}},\n`)
  return `${handlers.join('\n')}\nTOOL_SPECS = [\n${specs.join('')}]\n`
}

/** Uploads a module as `curl -T` does: as bytes without a Content-Type. */
export function upload(
  server: Pick<Server, 'fetch'>,
  name: string,
  source: string | Uint8Array,
  { layer = 'user', headers = {} }: { layer?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const body = typeof source === 'string' ? new TextEncoder().encode(source) : new Uint8Array(source)
  const path = `/workflows/tools/modules/${encodeURIComponent(name)}?layer=${layer}`
  return server.fetch(path, { method: 'PUT', body, headers })
}

/** Uploads a module of several files. */
export function uploadFiles(
  server: Pick<Server, 'fetch'>,
  name: string,
  files: Readonly<Record<string, string>>,
  { headers = {} }: { headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  return server.fetch(`/workflows/tools/modules/${name}`, {
    method: 'PUT',
    body: JSON.stringify({ files }),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

/** The answer to an upload that must succeed. */
export async function uploaded(...args: Parameters<typeof upload>): Promise<ModuleBody> {
  const answer = await upload(...args)
  if (!answer.ok) throw new Error(`the upload was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as ModuleBody
}

export type ModuleBody = {
  readonly name: string
  readonly layer: string
  readonly outcome: string
  readonly sha256: string
  readonly revision: string
  readonly tools: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>
  readonly shadows: readonly JsonValue[]
  readonly report: { readonly specs: readonly (JsonObject & { readonly name: string })[] } & JsonObject
}

/** All parts of a layer that an upload can change. */
export async function layerState(server: Server, layer = 'user'): Promise<unknown> {
  const paths = ['defs', 'modules'].map((what) => `/workflows/tools/${what}?layer=${layer}`)
  return Promise.all(paths.map(async (path) => (await server.fetch(path)).json()))
}
