import type { Attack } from './attacks.ts'
import type { Told, User } from './user.ts'

/** An attack on the event loop, which an account without any rights can make. */
export type LoopAttack = Attack & {
  /** How many users make it at the same time. */
  readonly users: number
  readonly needsRunner: boolean
  /** True if texts are looked for in texts, and not many tools looked at. */
  readonly isByText: boolean
}

const DEFINITIONS = 2_000
const BULK = 200

/** 2,000 definitions with names of 120 characters, each of which needs a hash for its alias. */
export async function defineLongNames(user: User, properties: object = {}): Promise<void> {
  for (let from = 0; from < DEFINITIONS; from += BULK) {
    const tools = Array.from({ length: BULK }, (_, at) => ({
      name: `tool:${from + at}:`.padEnd(120, 'n'),
      description: 'Has a long name.',
      parameters: { type: 'object', properties },
    }))
    refuseFailure(await user.ask('POST', '/defs', tools))
  }
}

function refuseFailure({ status, text }: Told): void {
  if (status >= 300) throw new Error(`${status}: ${text.slice(0, 300)}`)
}

const PRINTER = `def lines(password: str) -> str:
    print("\\n" * 16_000)
    return ""


def letters(password: list[str]) -> str:
    print("a" * 60_000)
    return ""


TOOL_SPECS = [
    {"name": f"printer:{each.__name__}", "description": "Prints.", "handler": each}
    for each in (lines, letters)
]
`
const STREAM = { Accept: 'text/event-stream' }
const LINE_FEEDS = { name: 'printer:lines', arguments: { password: `\na${'\n'.repeat(8_000)}` } }
const NEAR_MISSES = {
  name: 'printer:letters',
  arguments: {
    password: Array.from({ length: 195 }, (_, at) =>
      `a${String(at + 1).padStart(3, '0')}`.padEnd(1_240, 'a'),
    ),
  },
}

const SAY = {
  description: 'Says it.',
  runner: { kind: 'builtin', builtin: 'echo' },
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
}
/** Globs that nearly match a text of 65,000 equal letters everywhere. */
const GLOBS = {
  default: 'allow',
  rules: Array.from({ length: 200 }, (_, at) => {
    const text = `*a${String(at + 1).padStart(3, '0')}${'a'.repeat(250)}*`
    return { effect: 'deny', tool: '*', args: { text } }
  }),
}
const SAY_LETTERS = { name: 'say', arguments: { text: 'a'.repeat(65_000) } }

const ARGUMENTS = Array.from({ length: 16 }, (_, at) => `argument_${at}`.padEnd(120, 'x'))
const DECLARED = Object.fromEntries(ARGUMENTS.map((name) => [name, { type: 'string' }]))

/** A set of rules of nearly 256 KB, about all of 2,000 tools. The rules of two turns differ. */
function largeRules(turn: number): object {
  const args = Object.fromEntries(ARGUMENTS.map((name) => [name, `*${'a'.repeat(240)}${turn % 10}*`]))
  const rules = Array.from({ length: 39 }, (_, at) => ({ effect: 'deny', tool: `tool:*${at % 10}*`, args }))
  return { default: 'allow', rules }
}

/** The user id in an unsigned token. */
function uidOf({ token }: User): string {
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    sub: string
  }
  return sub
}

const uploadPrinter = async (user: User): Promise<void> =>
  refuseFailure(await user.ask('PUT', '/modules/printer', PRINTER))
const putRules = (user: User, rules: object): Promise<Told> =>
  user.send('PUT', `/workflows/rules/user/${uidOf(user)}`, rules)

/** One attack of each kind. */
export const LOOP_ATTACKS: readonly LoopAttack[] = [
  {
    name: 'a password of line feeds, and a tool that prints them',
    users: 1,
    needsRunner: true,
    isByText: true,
    atOnce: 1,
    prepare: uploadPrinter,
    step: (user) => user.ask('POST', '/invoke', LINE_FEEDS, STREAM),
  },
  {
    name: '195 passwords that a tool nearly prints',
    users: 1,
    needsRunner: true,
    isByText: true,
    atOnce: 1,
    prepare: uploadPrinter,
    step: (user) => user.ask('POST', '/invoke', NEAR_MISSES, STREAM),
  },
  {
    name: '200 globs that nearly match a long text',
    users: 1,
    needsRunner: false,
    isByText: true,
    atOnce: 1,
    async prepare(user) {
      refuseFailure(await user.ask('PUT', '/defs/say', SAY))
      refuseFailure(await putRules(user, GLOBS))
    },
    step: (user) => user.ask('POST', '/invoke?dryRun=1', SAY_LETTERS),
  },
  {
    name: 'lists of 2,000 long names in a dialect',
    users: 4,
    needsRunner: false,
    isByText: false,
    atOnce: 4,
    prepare: (user) => defineLongNames(user),
    // Another address each time, so that no list is ready.
    step: (user, loop, turn) =>
      user.ask(
        'GET',
        loop % 2 === 0
          ? `/list?dialect=anthropic&limit=${1_000 - (turn % 500)}`
          : `/list?dialect=anthropic&budget=${10_000 + loop + turn}`,
      ),
  },
  {
    name: 'a set of rules of 256 KB over 2,000 tools',
    users: 1,
    needsRunner: false,
    isByText: false,
    atOnce: 1,
    prepare: (user) => defineLongNames(user, DECLARED),
    async step(user, _loop, turn) {
      refuseFailure(await putRules(user, largeRules(turn)))
      await user.ask('GET', '/list')
      await user.ask('GET', `/explain?name=${'tool:1:'.padEnd(120, 'n')}`)
    },
  },
]
