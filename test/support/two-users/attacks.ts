import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { greedySchema, slowSchema } from '../schema-shapes.ts'
import { HANGING, HOSTILE, hugeModule, SOCKETS } from './hostile-modules.ts'
import type { User } from './user.ts'

/** An attack without a pause: `atOnce` loops that repeat `step` with the number of the loop and the number of the turn. */
export type Attack = {
  readonly name: string
  readonly atOnce: number
  /** Called before the loops begin. */
  readonly prepare?: (user: User) => Promise<unknown>
  readonly step: (user: User, loop: number, turn: number) => Promise<unknown>
}

const calls = (name: string, args: object = {}) => ({ name: `hostile:${name}`, arguments: args })
const uploadHostile = (user: User): Promise<unknown> => user.ask('PUT', '/modules/hostile', HOSTILE)

/** An attack of `atOnce` loops that call one tool. */
function calling(name: string, atOnce: number, tool: string, args: object = {}): Attack {
  return {
    name,
    atOnce,
    prepare: uploadHostile,
    step: (user) => user.ask('POST', '/invoke', calls(tool, args)),
  }
}

/** A schema that is admitted, but whose check needs all the allowed time with the arguments of COSTLY_CALL. */
const COSTLY = {
  description: 'Is costly to check.',
  runner: { kind: 'builtin', builtin: 'echo' },
  parameters: {
    type: 'object',
    properties: {
      a: {
        type: 'array',
        contains: {
          anyOf: Array.from({ length: 60 }, (_, index) => ({
            type: 'object',
            properties: { k: { const: index } },
            required: ['k'],
          })),
        },
        minContains: 0,
        maxContains: 1,
      },
    },
  },
}
const COSTLY_CALL = { name: 'costly', arguments: { a: Array.from({ length: 84_000 }, () => ({})) } }

/** A body of 1 MB that needs 25 MB when it is parsed. */
const LARGE_BODY = JSON.stringify(
  Array.from({ length: 4 }, (_, index) => ({
    type: 'tool_use',
    id: `c${index}`,
    name: 'nobodys',
    input: COSTLY_CALL.arguments,
  })),
)

const uses = (name: string, input: object) =>
  Array.from({ length: 64 }, (_, index) => ({ type: 'tool_use', id: `c${index}`, name, input }))

/** A body of 1 MB that is sent a byte at a time, with pauses. */
async function slowBody({ url, token }: User): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect').catch(() => undefined)
  socket.write(
    `POST /workflows/tools/dispatch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1000000\r\n\r\n[`,
  )
  for (let bytes = 0; bytes < 20 && !socket.destroyed; bytes += 1) {
    socket.write(' ')
    await pause(100)
  }
  socket.destroy()
}

/** 50 connections that send nothing for a moment. */
async function silentConnections({ url }: User): Promise<void> {
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 50 }, () => connect(Number(port), hostname))
  for (const socket of sockets) socket.on('error', () => undefined)
  await pause(200)
  for (const socket of sockets) socket.destroy()
}

/** One attack of each kind. */
export const ATTACKS: readonly Attack[] = [
  calling('30 calls that sleep', 30, 'sleep'),
  calling('8 calls that burn all processors', 8, 'burn', { seconds: 9 }),
  calling('8 calls that fill memory', 8, 'fill'),
  calling('8 floods of output', 8, 'flood'),
  {
    name: '16 uploads that hang',
    atOnce: 16,
    step: (user, loop, turn) => user.ask('PUT', '/modules/hanging', `${HANGING}# ${loop}, ${turn}\n`),
  },
  {
    name: '8 uploads of huge modules',
    atOnce: 8,
    step: (user, loop, turn) => user.ask('PUT', `/modules/huge${loop}`, hugeModule(`huge${loop}`, turn)),
  },
  {
    name: '8 of the worst schemas',
    atOnce: 8,
    step: (user, loop, turn) =>
      user.ask('PUT', `/defs/greedy${loop}`, {
        description: 'Is greedy.',
        parameters: turn % 2 === 0 ? greedySchema() : slowSchema(),
      }),
  },
  {
    name: '12 of the worst arguments',
    atOnce: 12,
    prepare: (user) => user.ask('PUT', '/defs/costly', COSTLY),
    step: (user) => user.ask('POST', '/invoke', COSTLY_CALL),
  },
  { name: '64 bodies of 1 MB', atOnce: 64, step: (user) => user.ask('POST', '/dispatch', LARGE_BODY) },
  { name: '100 slow bodies', atOnce: 100, step: slowBody },
  calling('8 answers of 490,000 values', 8, 'values'),
  calling('8 answers of 9 MB', 8, 'text'),
  calling('8 of the largest answers that are taken', 8, 'taken'),
  calling('16 calls with full logs', 16, 'log'),
  {
    name: '8 calls of a module that fills sockets',
    atOnce: 8,
    prepare: (user) => user.ask('PUT', '/modules/sockets', SOCKETS),
    step: (user) => user.ask('POST', '/invoke', { name: 'sockets:hold', arguments: {} }),
  },
  {
    name: '4 dispatches of 64 calls',
    atOnce: 4,
    prepare: uploadHostile,
    step: (user) => user.ask('POST', '/dispatch', uses('hostile__burn', { seconds: 0.2 })),
  },
  {
    name: '2 dispatches of 64 of the largest answers',
    atOnce: 2,
    prepare: uploadHostile,
    step: (user) => user.ask('POST', '/dispatch', uses('hostile__taken', {})),
  },
  { name: '500 connections that come and go', atOnce: 10, step: silentConnections },
  {
    name: '4 modules that come and go',
    atOnce: 4,
    async step(user, loop, turn) {
      const name = `brief${loop}`
      const source = `def hello() -> int:\n    """Says ${turn}."""\n    return ${turn}\n\n\nTOOL_SPECS = [{"name": "${name}:hello", "handler": hello}]\n`
      await user.ask('PUT', `/modules/${name}`, source)
      await user.ask('POST', '/invoke', { name: `${name}:hello`, arguments: {} })
      await user.ask('DELETE', `/modules/${name}`)
    },
  },
]
