import { definitionDigest } from '@toolrack/contract'
import type { Digest } from '@toolrack/contract'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { tool } from '../../support/definition-changes.ts'
import { until } from '../../support/until.ts'
import { WatchedService } from '../process/watched-service.ts'
import { HonestReader } from './honest-reader.ts'
import { accountsServer, PROJECT, userToken } from './people.ts'
import type { Sender } from './people.ts'

const ROOT = new URL('../../../', import.meta.url).pathname
/** The Python of the runner, as `npm test` makes it. */
const PYTHON = `${ROOT}python-runner/.venv/bin/python`

/** What a request may name of a stage, by the word that stands for it in a case. */
export type Words = Readonly<Record<string, string>>

/** Ann's tools, in the state that each round begins with. */
const HERS = tool('hers')
const NOTES = `
def write(text: str = "") -> str:
    """Gives the text back."""
    print("noted", text)
    return text


TOOL_SPECS = [{"name": "notes:write", "handler": write}]
`

/** A running service with a runner, what several users have in it, and who sends requests. */
export class Stage {
  readonly service: WatchedService
  readonly honest: HonestReader
  /** What no answer to a sender may hold. */
  readonly secrets: readonly string[]
  readonly #close: () => void
  #words: Words
  #tokens: Readonly<Record<string, string>> = {}

  private constructor(service: WatchedService, close: () => void, secrets: readonly string[], words: Words) {
    this.service = service
    this.#close = close
    this.secrets = secrets
    this.#words = words
    this.honest = new HonestReader(service.url, () => userToken('hana'))
  }

  static async start(): Promise<Stage> {
    if (!existsSync(PYTHON)) throw new Error('There is no Python environment in python-runner/.venv.')
    const accounts = await accountsServer()
    const service = await WatchedService.start({
      args: [`--python=${PYTHON}`],
      env: {
        TOOLRACK_AUTH: 'firebase',
        GOOGLE_CLOUD_PROJECT: PROJECT,
        FIREBASE_AUTH_EMULATOR_HOST: accounts.host,
        METADATA_SERVER_DETECTION: 'none',
        TOOLRACK_CORS_ORIGINS: 'https://app.example',
        TOOLRACK_JOB_ACCOUNTS: 'flows@example.com',
        TOOLRACK_JOB_AUDIENCES: 'https://toolrack.example/jobs',
      },
    })
    await until(
      async () => health(service.url),
      ({ runner }) => runner?.status === 'ready',
    )
    const canary = `canary-${randomUUID()}`
    const words = await furnishBob(service.url, canary)
    const stage = new Stage(service, accounts.close, [canary], words)
    await ask(service.url, 'hana', 'PUT', 'defs/hanas_first', tool('hanas_first'))
    await ask(service.url, 'hana', 'PUT', 'defs/hanas_other', tool('hanas_other'))
    await stage.reset()
    await stage.honest.start()
    return stage
  }

  /** Puts Ann's things and the global one back, and renews the tokens. */
  async reset(): Promise<void> {
    const { url } = this.service
    await clear(url, 'root', 'global')
    await clear(url, 'ann', 'user')
    await clear(url, 'root', 'user')
    await ask(url, 'ann', 'PUT', 'defs/hers', HERS)
    await ask(url, 'ann', 'PUT', 'modules/notes', NOTES)
    await ask(url, 'root', 'PUT', 'defs/ours?layer=global', tool('ours'))
    const called = (await ask(url, 'ann', 'POST', 'invoke', { name: 'notes:write' })) as Called
    const echo = (await ask(url, 'ann', 'GET', 'explain?name=ECHO')) as Explained
    const echoDigest = echo.layers.findLast(({ digest }) => digest !== undefined)?.digest ?? ''
    const digest = definitionDigest(HERS)
    const { token } = (await ask(url, 'ann', 'POST', '../jobs/tokens', {
      workflowId: 'fuzz',
      tools: [
        { name: 'hers', digest },
        { name: 'ECHO', digest: echoDigest },
      ],
      ttl: 600,
    })) as { token: string }
    this.#tokens = { ann: userToken('ann'), root: userToken('root'), job: token }
    this.#words = {
      ...this.#words,
      HER_DIGEST: digest,
      ECHO_DIGEST: echoDigest,
      HER_SHA256: createHash('sha256').update(NOTES).digest('hex'),
      HER_CALL: called.meta.invocationId,
    }
  }

  /** The text with what its `$WORD$`s stand for. */
  filledIn(text: string): string {
    return text.replaceAll(/\$([A-Z_0-9]+)\$/g, (whole, word: string) => this.#words[word] ?? whole)
  }

  /** Undefined for nobody. */
  tokenOf(sender: Sender): string | undefined {
    return this.#tokens[sender]
  }

  /** Whatever must not be seen in an answer to this sender: what is Bob's, tokens of others, and places of the machine. */
  hiddenFrom(sender: Sender): readonly string[] {
    const others = Object.entries(this.#tokens).filter(([name]) => name !== sender)
    const places = [this.service.data, ROOT, 'node_modules', 'node:internal', '/functions/src/']
    // An admin is told where the folder of modules is.
    return [...this.secrets, ...others.map(([, token]) => token), ...(sender === 'root' ? [] : places)]
  }

  async stop(): Promise<void> {
    await this.honest.stop()
    await this.service.stop()
    this.#close()
  }
}

type Called = { readonly meta: { readonly invocationId: string } }
type Explained = { readonly layers: readonly { readonly digest?: Digest }[] }

/** Bob's definition, module and printed log, each with the canary in it; what names them is no secret. */
async function furnishBob(url: string, canary: string): Promise<Words> {
  const definition = tool('bobs_tool', `Holds ${canary}.`)
  const vault = `
SECRET = "${canary}"


def look() -> str:
    """Holds ${canary}."""
    print(SECRET)
    return SECRET


TOOL_SPECS = [{"name": "vault:look", "handler": look}]
`
  const { digest } = (await ask(url, 'bob', 'PUT', 'defs/bobs_tool', definition)) as { digest: string }
  const { sha256, revision } = (await ask(url, 'bob', 'PUT', 'modules/vault', vault)) as {
    sha256: string
    revision: string
  }
  const { meta } = (await ask(url, 'bob', 'POST', 'invoke', { name: 'vault:look' })) as Called
  return { BOBS_DIGEST: digest, BOBS_SHA256: sha256, BOBS_REVISION: revision, BOBS_CALL: meta.invocationId }
}

/** Deletes every module and definition of a layer. */
async function clear(url: string, who: string, layer: string): Promise<void> {
  for (const kind of ['modules', 'defs']) {
    const { items } = (await ask(url, who, 'GET', `${kind}?layer=${layer}`)) as {
      items: readonly { readonly name: string }[]
    }
    for (const { name } of items)
      await ask(url, who, 'DELETE', `${kind}/${encodeURIComponent(name)}?layer=${layer}`)
  }
}

/** A request that must be taken; a text is sent as it is, anything else as JSON. */
async function ask(url: string, who: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${url}/workflows/tools/${path}`, {
    method,
    headers: { Authorization: `Bearer ${userToken(who)}` },
    ...(body !== undefined && {
      body: typeof body === 'string' ? new TextEncoder().encode(body) : JSON.stringify(body),
    }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} by ${who} was answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}

async function health(url: string): Promise<{ runner?: { status: string } }> {
  const answer = await fetch(`${url}/health`, { headers: { Authorization: `Bearer ${userToken('root')}` } })
  return (await answer.json()) as { runner?: { status: string } }
}
