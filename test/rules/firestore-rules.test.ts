import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { initializeTestEnvironment } from '@firebase/rules-unit-testing'
import type { RulesTestEnvironment } from '@firebase/rules-unit-testing'
import { setLogLevel } from 'firebase/app'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describeOnEmulator, EMULATOR, newProject } from '../support/firestore-emulator.ts'
import { ruleExpressions } from '../support/rule-coverage.ts'

// The client tells its console of every refusal.
setLogLevel('silent')

const RULES = readFileSync(new URL('../../firestore.rules', import.meta.url), 'utf8')
const CONDITION_LINES = RULES.split('\n').flatMap((line, index) =>
  /\bif\b|\breturn\b/.test(line) ? [index + 1] : [],
)
const projectId = newProject()
const RANDOM = `c${randomUUID()}`
const OWN = 'users/owner/tools/defs'

/** A document of every kind there is or could be, and what its owner may do with it; nobody else may do anything. */
const DOCUMENTS: Readonly<Record<string, readonly Verb[]>> = {
  [OWN]: ['get'],
  [`${OWN}/items/A`]: ['get', 'list'],
  [`${OWN}/items/A/versions/1`]: ['get', 'list'],
  [`${OWN}/items/A/versions/1/below/it`]: [],
  [`${OWN}/items/A/notes/one`]: [],
  [`${OWN}/${RANDOM}/one`]: [],
  'users/owner': [],
  'users/owner/tools/invocations': [],
  'users/owner/tools/invocations/logs/one': [],
  'users/owner/tools/idempotency': [],
  'users/owner/tools/idempotency/keys/one': [],
  'users/owner/tools/modules': [],
  'users/owner/tools/modules/items/m': [],
  'users/owner/tools/modules/items/m/versions/1': [],
  'users/owner/tools/modules/blobs/sha': [],
  [`users/owner/${RANDOM}/one`]: [],
  'tools/defs': [],
  'tools/defs/items/A': [],
  'tools/defs/items/A/versions/1': [],
  'tools/modules': [],
  'tools/modules/items/m': [],
  'tools/modules/items/m/versions/1': [],
  'tools/modules/blobs/sha': [],
  'sessions/one': [],
  'audit/one': [],
  'grants/one': [],
  'idempotency/one': [],
  [`${RANDOM}/one`]: [],
  [`${RANDOM}/one/${RANDOM}/two/users/owner/tools/defs/items/A`]: [],
}

const PRINCIPALS = {
  anonymous: undefined,
  owner: { uid: 'owner', claims: {} },
  other: { uid: 'other', claims: {} },
  admin: { uid: 'other', claims: { toolrackAdmin: true } },
  forger: { uid: 'other', claims: { admin: true, user: 'owner', email: 'owner', owner: 'owner' } },
} as const
type Principal = keyof typeof PRINCIPALS

const VERBS = ['get', 'list', 'create', 'update', 'delete'] as const
type Verb = (typeof VERBS)[number]

type Client = ReturnType<ReturnType<RulesTestEnvironment['unauthenticatedContext']>['firestore']>

const ACTS: Readonly<Record<Verb, (client: Client, path: string) => Promise<unknown>>> = {
  get: (client, path) => client.doc(path).get(),
  list: (client, path) => client.doc(path).parent.get(),
  create: (client, path) => client.doc(path).parent.doc('new').set({ text: 'new' }),
  update: (client, path) => client.doc(path).update({ text: 'changed' }),
  delete: (client, path) => client.doc(path).delete(),
}

describeOnEmulator('firestore.rules', () => {
  let environment: RulesTestEnvironment
  const clients = new Map<Principal, Client>()

  beforeAll(async () => {
    const [host = '', port] = EMULATOR.split(':')
    environment = await initializeTestEnvironment({
      projectId,
      firestore: { host, port: Number(port), rules: RULES },
    })
    await environment.withSecurityRulesDisabled(async (context) => {
      for (const path of Object.keys(DOCUMENTS)) await context.firestore().doc(path).set({ text: 'old' })
    })
    for (const [name, principal] of Object.entries(PRINCIPALS)) {
      const context = principal
        ? environment.authenticatedContext(principal.uid, principal.claims)
        : environment.unauthenticatedContext()
      clients.set(name as Principal, context.firestore())
    }
  })
  afterAll(() => environment.cleanup())

  function clientOf(principal: Principal): Client {
    const client = clients.get(principal)
    if (!client) throw new Error(`nobody is ${principal}`)
    return client
  }

  const rows = Object.keys(PRINCIPALS).flatMap((principal) =>
    Object.entries(DOCUMENTS).map(([path, own]) => {
      const allowed = VERBS.filter((verb) => principal === 'owner' && own.includes(verb))
      return [principal as Principal, allowed.join(' and ') || 'nothing', path, allowed] as const
    }),
  )

  test.each(rows)('%s may do %s with %s', async (principal, _words, path, allowed) => {
    const client = clientOf(principal)
    const done: Verb[] = []
    for (const verb of VERBS) {
      const isDone = await ACTS[verb](client, path).then(() => true, isDenial)
      if (isDone) done.push(verb)
    }
    expect(done).toEqual(allowed)
  })

  test.each(['items', 'versions', 'blobs', 'defs', 'tools', RANDOM])(
    'nobody may ask for every collection that is called %s, wherever it lies',
    async (collection) => {
      const asked = Object.keys(PRINCIPALS).map((principal) =>
        clientOf(principal as Principal)
          .collectionGroup(collection)
          .get()
          .then(() => `${principal} may`, isDenial),
      )
      expect(await Promise.all(asked)).toEqual(asked.map(() => false))
    },
  )

  test('nothing of what was tried has changed anything', async () => {
    await environment.withSecurityRulesDisabled(async (context) => {
      for (const path of Object.keys(DOCUMENTS)) {
        expect((await context.firestore().doc(path).get()).data()).toEqual({ text: 'old' })
        expect((await context.firestore().doc(path).parent.doc('new').get()).exists).toBe(false)
      }
    })
  })

  test('each expression of the rules came out true for somebody and false for somebody else', async () => {
    const report = await fetch(`http://${EMULATOR}/emulator/v1/projects/${projectId}:ruleCoverage`)
    const expressions = ruleExpressions(await report.json())
    expect([...new Set(expressions.map(({ line }) => line))].toSorted((a, b) => a - b)).toEqual(
      CONDITION_LINES,
    )
    expect(expressions.filter(({ outcomes }) => outcomes !== 'false,true')).toEqual([])
  })
})

/** A refusal by the rules; anything else is not what was asked about. */
function isDenial(error: Error & { readonly code?: unknown }): false {
  if (error.code !== 'permission-denied') throw error
  return false
}
