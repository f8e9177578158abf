import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Firestore } from '@google-cloud/firestore'
import { GeoPoint, Timestamp } from '@google-cloud/firestore'
import type { ToolDefinition } from '@toolrack/contract'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LAYER_LIMITS } from '../../../functions/src/catalog/definitions/layer-totals.ts'
import { by, put, tool } from '../../support/definition-changes.ts'
import {
  connectionTo,
  describeOnEmulator,
  EMULATOR,
  newProject,
  openFirestore,
} from '../../support/firestore-emulator.ts'
import { FirestoreInstance } from '../../support/firestore-instance.ts'
import { originalShapes } from '../../support/original-shapes.ts'

/** Each run starts a process that loads Firestore's client. */

const CLI = fileURLToPath(new URL('../../../functions/src/hosts/cloud/import-cli.ts', import.meta.url))
const GLOBAL = { kind: 'global' } as const

const PAGE = readFileSync(new URL('../../../docs/how-to/move-from-the-original.md', import.meta.url), 'utf8')

type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string }

describeOnEmulator('npm run import -- --from-firestore', () => {
  let project: string
  let firestore: Firestore
  let instance: FirestoreInstance

  beforeEach(() => {
    project = newProject()
    firestore = openFirestore(project)
    instance = new FirestoreInstance(connectionTo(project))
  })
  afterEach(async () => {
    await instance.close()
    await firestore.terminate()
  })

  /** The command as its script calls it. */
  async function run(...args: readonly string[]): Promise<Outcome> {
    const env = { FIRESTORE_EMULATOR_HOST: EMULATOR, GOOGLE_CLOUD_PROJECT: project }
    const command = ['--disable-warning=ExperimentalWarning', CLI, ...args]
    return promisify(execFile)(process.execPath, command, { env }).then(
      (told) => ({ code: 0, ...told }),
      (error: Outcome) => error,
    )
  }

  /** The definitions of this service in a layer, by their names. Documents of other programs are not among them. */
  async function written(uid?: string): Promise<ReadonlyMap<string, ToolDefinition>> {
    const layer = uid === undefined ? GLOBAL : ({ kind: 'user', uid } as const)
    const { definitions } = await instance.store.layer(layer).read()
    const own = definitions.filter(({ source }) => source === undefined)
    return new Map(own.map(({ name, text }) => [name, JSON.parse(text) as ToolDefinition]))
  }

  /** The last line of the output. */
  function counted(written: string, unchanged: number, kept: number, refused: number): string {
    const place = `In ${project} on the emulator at ${EMULATOR}`
    return `${place}: ${written}, ${unchanged} unchanged, ${kept} left as they are, ${refused} not imported.\n`
  }

  test('documents of every shape become definitions of the global layer', async () => {
    const shapes = originalShapes()
    const items = firestore.collection('tools/defs/items')
    const batch = firestore.batch()
    for (const { sent } of shapes) batch.set(items.doc(), { ...sent, created: Timestamp.now() })
    await batch.commit()
    const outcome = await run()
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    expect(outcome.stdout).toMatch(/^wrote \S+ into the global layer, from tools\/defs\/items\/\w+$/m)
    expect(outcome.stdout).toContain(counted(`${shapes.length} written`, 0, 0, 0))
    const definitions = await written()
    for (const { name, description, parameters, workflowName } of shapes) {
      const { runner, ...definition } = definitions.get(name) ?? {}
      expect([name, definition]).toEqual([
        name,
        { type: 'function', function: { name, description, parameters } },
      ])
      expect([name, runner?.workflowName]).toEqual([name, workflowName])
    }
  })

  test('the output is the one that the page about moving shows', async () => {
    const [, shown = '', name = ''] = /^```text\n(wrote (\w+) [^`]*)```/m.exec(PAGE) ?? []
    await firestore.doc(`tools/defs/items/${name}`).set(tool(name))
    const { stdout } = await run()
    expect(stdout.replace(/^In \S+ on the emulator at [^:]+:\d+:/m, 'In my-project:')).toBe(shown)
  })

  test("every user's documents become definitions of that user, from both places", async () => {
    await firestore.doc('users/ann/tools/defs/items/x1').set(tool('A'))
    await firestore.doc('users/ann/tools/x2').set({ desc: 'By its id.', toolName: 'B' })
    await firestore.doc('users/bob/tools/C').set({ description: 'By its id.' })
    for (const own of ['rules', 'approvals', 'agents'])
      await firestore.doc(`users/bob/tools/${own}`).set({ text: '{}' })
    await instance.store.write({ kind: 'user', uid: 'bob' }, [put(tool('own'))], by('bob'))
    const outcome = await run()
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    expect(outcome.stdout).toBe(
      'wrote A into the layer of the user ann, from users/ann/tools/defs/items/x1\n' +
        'wrote B into the layer of the user ann, from users/ann/tools/x2\n' +
        'wrote C into the layer of the user bob, from users/bob/tools/C\n' +
        counted('3 written', 0, 0, 0),
    )
    expect([...(await written('ann')).keys()].toSorted()).toEqual(['A', 'B'])
    expect([...(await written('bob')).keys()].toSorted()).toEqual(['C', 'own'])
    expect((await written()).size).toBe(0)
  })

  test('each document that cannot be read is named with the reason, and the others are written', async () => {
    const broken = {
      'no name': { description: 'A name has no blank.' },
      place: { name: 'PLACE', parameters: { type: 'object', default: new GeoPoint(1, 2) } },
      nothing: { note: 'No tool.' },
      module: { ...tool('MODULE'), runner: { kind: 'python', module: 'm', sha256: '0'.repeat(64) } },
      schema: { name: 'SCHEMA', parameters: { type: 'nothing' } },
      twin: tool('GOOD'),
    }
    const items = firestore.collection('tools/defs/items')
    for (const [id, data] of Object.entries({ ...broken, good: tool('GOOD') })) await items.doc(id).set(data)
    await firestore.doc('users/ann/tools/A').set(tool('A'))
    const { code, stdout, stderr } = await run()
    expect([code, [...(await written()).keys()], [...(await written('ann')).keys()]]).toEqual([
      1,
      ['GOOD'],
      ['A'],
    ])
    expect(stdout).toContain(counted('2 written', 0, 0, 6))
    expect(stderr).toContain(
      'tools/defs/items/place#/parameters/default: is a GeoPoint, which has no form in JSON\n',
    )
    expect(stderr).toContain('tools/defs/items/twin: the name GOOD is taken by tools/defs/items/good\n')
    for (const id of Object.keys(broken))
      expect(stderr).toMatch(new RegExp(`^tools/defs/items/${id}[#:].* `, 'm'))
  })

  test('a document whose id is the name becomes the definition, and a copy of it is kept', async () => {
    const data = { ...tool('A'), created: Timestamp.fromMillis(1_000) }
    await firestore.doc('tools/defs/items/A').set(data)
    expect((await run()).stdout).toContain('wrote A into the global layer, from tools/defs/items/A\n')
    expect((await written()).get('A')).toEqual(tool('A'))
    const copies = await firestore.collection('tools/defs/items/A/replaced').get()
    expect(copies.docs.map((copy) => copy.data())).toEqual([data])
    expect((await run()).stdout).toBe(counted('0 written', 0, 0, 0))
  })

  test('a second run changes nothing, not even what was changed here in between', async () => {
    await firestore.doc('tools/defs/items/x1').set(tool('SAME'))
    await firestore.doc('tools/defs/items/x2').set(tool('OTHER', 'Theirs.'))
    expect((await run()).code).toBe(0)
    await instance.store.write(GLOBAL, [put(tool('OTHER', 'Ours.'))], by('root'))
    expect(await run()).toMatchObject({
      code: 0,
      stdout:
        'left OTHER of the global layer as it is: it differs from tools/defs/items/x2\n' +
        counted('0 written', 1, 1, 0),
    })
    expect((await written()).get('OTHER')?.function.description).toBe('Ours.')
  })

  test('a layer that is full is named, and the layers of other users are written', async () => {
    const writer = firestore.bulkWriter()
    const tools = firestore.collection('users/ann/tools')
    for (let count = 0; count <= LAYER_LIMITS.user.definitionsMax; count += 1)
      void writer.create(tools.doc(`TOOL_${count}`), { description: 'By its id.' })
    await writer.close()
    await firestore.doc('users/bob/tools/B').set(tool('B'))
    const { code, stdout, stderr } = await run()
    expect([code, [...(await written('bob')).keys()]]).toEqual([1, ['B']])
    expect(stdout).toMatch(/^wrote B into the layer of the user bob, from users\/bob\/tools\/B$/m)
    expect(stderr).toMatch(
      /^users\/ann\/tools\/TOOL_\d+ could not be written into the layer of the user ann: .+$/m,
    )
    expect(stdout).toContain(counted(`${LAYER_LIMITS.user.definitionsMax + 1} written`, 0, 0, 1))
  })

  test('--dry-run says the same and writes nothing', async () => {
    await firestore.doc('tools/defs/items/x1').set(tool('A'))
    await firestore.doc('tools/defs/items/x2').set({ name: 'B', parameters: 4 })
    expect(await run('--dry-run')).toMatchObject({
      code: 1,
      stdout:
        'would write A into the global layer, from tools/defs/items/x1\n' + counted('1 to write', 0, 0, 1),
      stderr: expect.stringMatching(/^tools\/defs\/items\/x2#\/parameters: must be an object/),
    })
    expect((await written()).size).toBe(0)
  })
})
