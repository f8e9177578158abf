import { expect } from '@jest/globals'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'

function fetches(network: readonly string[]): string {
  return `
import urllib.request

def fetch(url: str) -> str:
    """Fetches a page."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()

TOOL_SPECS = [{"name": "fetches:fetch", "handler": fetch, "network": ${JSON.stringify(network)}}]
`
}

const started = sharedServerWithRunner({ env: { TOOLRACK_RUNNER_NETWORK_ALLOW: '127.0.0.0/8,::1/128' } })

withPython('a tool reaches the host that its spec names, and no other', async () => {
  const pages = createServer((_, res) => res.end('a page')).listen(0, '127.0.0.1')
  await new Promise((resolve) => pages.once('listening', resolve))
  const { port } = pages.address() as AddressInfo
  const url = `http://localhost:${port}/`
  const server = await started()
  try {
    await uploaded(server, 'fetches', fetches([`localhost:${port}`]))
    expect((await invoked(server, 'fetches:fetch', { url }))[1]).toMatchObject({ textResultForLlm: 'a page' })
    await uploaded(server, 'fetches', fetches(['example.com']))
    const [status, refused] = await invoked(server, 'fetches:fetch', { url })
    expect([status, refused]).toMatchObject([200, { resultType: 'failure', code: 'TOOL_RAISED' }])
    await uploaded(server, 'fetches', fetches([]))
    expect((await invoked(server, 'fetches:fetch', { url }))[1]).toMatchObject({ code: 'TOOL_RAISED' })
  } finally {
    pages.close()
  }
})

withPython(
  'a stored spec with a numeric address, which is refused now, is no failure to try again after',
  async () => {
    const server = await started()
    await uploaded(server, 'fetches', fetches(['example.com']))
    using database = new DatabaseSync(join(server.data, 'toolrack.db'))
    const stored = database
      .prepare(`UPDATE definitions SET text = replace(text, '"example.com"', '"10.0.0.1"') WHERE name = ?`)
      .run('fetches:fetch')
    expect(stored.changes).toBe(1)
    const [status, answer] = await invoked(server, 'fetches:fetch', { url: 'http://10.0.0.1/' })
    expect([status, answer]).toMatchObject([200, { resultType: 'failure', code: 'MODULE_BROKEN' }])
    expect(answer).toMatchObject({
      error: expect.stringMatching(
        /nothing was run: network\[0\] is a numeric address.*upload the module again/,
      ),
    })
  },
)
