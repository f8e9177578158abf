import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { putDefinitions } from '../definitions/cloud-catalog.ts'
import { ARGUMENTS, callOf } from '../definitions/echo-tool.ts'
import { drawing } from '../definitions/many.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { LIST_PATH, headersFor } from '../processes/ask.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer, type EmbeddedServer } from '../processes/embedded-server.ts'
import { memoryOf } from '../processes/memory-of.ts'
import { serviceClient, uploadModule } from '../processes/service-client.ts'

const TIMES = 10_000
/** The clients of a load. Each makes a call, then a list. */
const CLIENTS = 4
/** Of this many lists, one is the whole list, one is in a dialect, one has a budget, and the others select five names. */
const KINDS = 10
const NAMES = 5

const MODULE = 'echo_json'
const REST = 'at rest'
const LISTED = 'after 753 definitions were written, and the first list'
const USED = `after ${TIMES.toLocaleString('en-US')} calls and lists`

/** Measures the memory of an embedded server with 753 definitions, with all its processes: those for checks, and the runner's. */
export function memoryOfCalls(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    const definitions = bfclDefinitions()
    const draw = drawing(1)
    const rounds: Round[] = []
    // This start fills Node's compile cache. With an empty cache, Node also loads its compiler of TypeScript.
    await withEmbeddedServer(folder, { python }, () => Promise.resolve())
    while (rounds.length < count)
      await withEmbeddedServer(folder, { python }, async (server) => {
        const agent = new Agent({ keepAlive: true })
        const rest = await memoryOf(server.pid)
        await putDefinitions(server, 'global', definitions)
        await list(server, agent, LIST_PATH)
        const listed = await memoryOf(server.pid)
        await uploadModule(server, MODULE, callOf(MODULE).source)
        let left = TIMES
        const oneAfterAnother = async (): Promise<void> => {
          const client = await serviceClient(server)
          while (left > 0) {
            left -= 1
            await client.invoke({ name: `${MODULE}:echo`, arguments: ARGUMENTS })
            await list(
              server,
              agent,
              pathOf(left % KINDS, () => draw(definitions, NAMES)),
            )
          }
          client.close()
        }
        await Promise.all(Array.from({ length: CLIENTS }, oneAfterAnother))
        agent.destroy()
        rounds.push({ [REST]: rest, [LISTED]: listed, [USED]: await memoryOf(server.pid) })
      })
    return { rounds, comparisons: COMPARISONS, sharesCores: true }
  })
}

function pathOf(kind: number, names: () => readonly string[]): string {
  if (kind === 0) return LIST_PATH
  if (kind === 1) return `${LIST_PATH}?dialect=mcp`
  if (kind === 2) return `${LIST_PATH}?budget=4000`
  return `${LIST_PATH}?names=${names().map(encodeURIComponent).join(',')}`
}

/** Reads a list without parsing it, because that would take longer than the list. */
async function list({ url, token }: EmbeddedServer, agent: Agent, path: string): Promise<void> {
  const req = get(url + path, { headers: headersFor(token), agent })
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  res.resume()
  await once(res, 'end')
  if (res.statusCode !== 200) throw new Error(`${path}: ${res.statusCode}`)
}

const total = { metric: 'totalMb', unit: 'MB' } as const
const parts = [
  { metric: 'serviceMb', unit: 'MB', what: 'of that, the service' },
  { metric: 'checksMb', unit: 'MB', what: 'of that, the processes that check' },
  { metric: 'runnerMb', unit: 'MB', what: 'of that, the runner' },
] as const
const COMPARISONS: readonly Comparison[] = [REST, LISTED, USED].flatMap((ours) => [
  { ...total, what: 'PSS of all processes', ours },
  ...parts.map((part) => ({ ...part, ours })),
])
