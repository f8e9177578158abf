import type { ListedTool } from '@toolrack/contract'
import { conversationContract } from '../../support/conversation.contract.ts'
import { describeWithEmulators, EMULATORS, HOSTING, newUser } from '../../support/emulators.ts'
import type { Person } from '../../support/emulators.ts'
import { openFirestore } from '../../support/firestore-emulator.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

/** A job token of the user for these tools, as soon as the functions list all of them with it. */
async function jobToken(user: Person, names: readonly string[]): Promise<string> {
  const tools = await Promise.all(
    names.map(async (name) => {
      const explained = await user.fetch(`${HOSTING}/workflows/tools/explain?name=${name}`)
      const { layers } = (await explained.json()) as { layers: readonly { role?: string; digest?: string }[] }
      return { name, digest: layers.find(({ role }) => role === 'winner')?.digest }
    }),
  )
  const body = JSON.stringify({ workflowId: 'library', tools, ttl: 600 })
  const minted = await user.fetch(`${HOSTING}/workflows/jobs/tokens`, { method: 'POST', body })
  const { token } = (await minted.json()) as { token: string }
  const headers = { Authorization: `Bearer ${token}` }
  await until(
    async () => (await fetch(`${HOSTING}/jobs/tools/list`, { headers })).json() as Promise<ListedTool[]>,
    (listed) => listed.length === names.length,
  )
  return token
}

/** The functions behind Hosting. All connections to them are cut, and new ones are refused for a while. */
describeWithEmulators('the functions on the emulators', () =>
  conversationContract(async () => {
    const user = await newUser()
    const proxy = await TcpProxy.start(EMULATORS.hosting)
    const firestore = openFirestore(EMULATORS.project, EMULATORS.firestore)
    async function printed(): Promise<readonly string[]> {
      const logs = firestore.collection('users').doc(user.uid).collection('tools').doc('invocations')
      return (await logs.collection('logs').get()).docs.map((log) => String(log.get('text')))
    }
    return {
      url: `http://${proxy.address}`,
      fetch: (path, init) => user.fetch(HOSTING + path, init),
      itemsQuery: 'envelope=items&',
      token: (names) => jobToken(user, names),
      unknownTool: 'The token of this job does not name the tool NO_SUCH_TOOL.',
      takeAway: () => proxy.cut(),
      giveBack: () => proxy.restore(),
      async untilRuns(title) {
        await until(printed, (texts) => texts.includes(`find ${title}\n`))
      },
      printed,
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]()
        await firestore.terminate()
      },
    }
  }),
)
