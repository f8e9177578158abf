import { afterAll, expect } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { existsSync } from 'node:fs'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'

/** What specs say about failures, from the exception in a process of the runner to the answer. */

const server = await (existsSync(PYTHON) ? serverWithRunner() : Server.start())
afterAll(() => server[Symbol.asyncDispose]())

const SOURCE = `
import socket
import time


def host(city: str) -> str:
    """Asks a host that is down."""
    raise socket.gaierror(-2, "Name or service not known")


def files(city: str) -> str:
    """Reads what it may not read."""
    raise PermissionError(13, "Permission denied", "/secret")


def slow(city: str) -> str:
    """Does not end."""
    time.sleep(60)


def rows(city: str):
    """Yields two rows and fails."""
    yield f"{city} 1\\n"
    yield f"{city} 2\\n"
    raise ValueError("no third row")


def kind(town: str) -> str:
    """Says for whom it was called."""
    return f"instead for {town}"


def spec(handler, **more):
    return {"name": f"failing:{handler.__name__}", "handler": handler, **more}


def instead_of(kind):
    return {kind: {"fallbackTools": [{"name": "failing:kind", "args": {"town": "city"}}]}}


TOOL_SPECS = [
    spec(host, onFailure=instead_of("network")),
    spec(files, onFailure=instead_of("permission")),
    spec(slow, onFailure=instead_of("timeout"), timeoutSeconds=0.5),
    spec(rows, onFailure={"degraded": True, **instead_of("network")}),
    spec(kind),
]
`

type Answer = InvocationResult & { readonly meta: { readonly tool: string; readonly fallbackFor?: string } }

async function call(name: string): Promise<Answer> {
  const body = JSON.stringify({ name: `failing:${name}`, arguments: { city: 'Bern' } })
  const answer = await server.fetch('/workflows/tools/invoke', { method: 'POST', body })
  return (await answer.json()) as Answer
}

withPython('the class of an exception, or the deadline, says which fallback takes its place', async () => {
  await uploaded(server, 'failing', SOURCE)
  for (const name of ['host', 'files', 'slow']) {
    const { textResultForLlm, meta } = await call(name)
    expect([name, textResultForLlm]).toEqual([name, 'instead for Bern'])
    expect(meta).toMatchObject({ tool: 'failing:kind', fallbackFor: `failing:${name}` })
  }
})

withPython(
  'what a generator has yielded before it fails is a partial result, which says the error',
  async () => {
    await uploaded(server, 'failing', SOURCE)
    const { resultType, textResultForLlm, meta } = await call('rows')
    expect({ resultType, meta }).toMatchObject({ resultType: 'success', meta: { degraded: true } })
    expect(textResultForLlm).toMatch(
      /^Bern 1\nBern 2\n\n\nThis is only a part of the result: failing:rows failed/,
    )
    expect(textResultForLlm).toContain('ValueError: no third row')
  },
)

withPython('what is done after a failure is in the definition of the tool', async () => {
  await uploaded(server, 'failing', SOURCE)
  const answer = await server.fetch('/workflows/tools/defs/failing:rows')
  expect((await answer.json()) as object).toMatchObject({
    definition: { onFailure: { degraded: true, network: { fallbackTools: [{ name: 'failing:kind' }] } } },
  })
})
