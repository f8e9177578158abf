import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import { conversationContract } from '../support/conversation.contract.ts'
import { serverWithRunner } from '../support/modules.ts'
import { until } from '../support/until.ts'

type Health = { readonly runner: { readonly calls?: { readonly running: number } } }

/** The embedded server. It is killed and started again on the same port with the same data. */
conversationContract(async () => {
  const [port] = await freePorts(1)
  const server = await serverWithRunner({ env: { PORT: String(port), LIST_ENVELOPE: 'items' } })
  return {
    url: server.url,
    fetch: (path, init) => server.fetch(path, init),
    itemsQuery: '',
    token: () => Promise.resolve(server.token),
    unknownTool: 'Unsupported tool: NO_SUCH_TOOL',
    takeAway: () => server.kill9(),
    giveBack: () => server.restart(),
    async untilRuns() {
      await until(
        async () => (await (await server.fetch('/health')).json()) as Health,
        ({ runner }) => (runner.calls?.running ?? 0) > 0,
      )
    },
    async printed() {
      // Before a read, the server moves the newest calls into the database.
      await server.fetch('/workflows/tools/invocations')
      using database = new DatabaseSync(join(server.data, 'invocations.db'), { readOnly: true })
      return database
        .prepare('SELECT text FROM logs')
        .all()
        .map(({ text }) => String(text))
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})
