import { expect, test } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { Catalog } from '../../../../functions/src/catalog/views/catalog.ts'
import { DefinitionWriter } from '../../../../functions/src/catalog/definitions/definition-writer.ts'
import { ModuleReader } from '../../../../functions/src/catalog/definitions/module-reader.ts'
import { ModuleWriter } from '../../../../functions/src/catalog/definitions/module-writer.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { tool } from '../../../support/tool.ts'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
/** The writers over an empty store, and schema compilers by whose clock each check takes so many seconds. */
function writing(secondsEach: number) {
  const store = new MemoryDefinitionStore()
  const layer = store.layer({ kind: 'user', uid: 'ann' })
  const catalog = new Catalog(
    { file: store.layer({ kind: 'global' }), global: store.layer({ kind: 'global' }), user: () => layer },
    { report: () => undefined },
  )
  let nowMs = 1e6
  const compilers = new SchemaCompilers({ nowMs: () => (nowMs += secondsEach * 1_000) })
  const parts = { store, catalog, compilers }
  const reader = new ModuleReader(store)
  return {
    writer: new DefinitionWriter(parts),
    modules: new ModuleWriter({ ...parts, reader, runner: readingRunner() }),
    compilers,
    [Symbol.asyncDispose]: () => compilers.close(),
    written: async () => (await layer.read()).definitions.map(({ name }) => name),
  }
}

const FIVE = ['A', 'B', 'C', 'D', 'E']
const bulk = FIVE.map((name) => tool(name))
const source = Buffer.from(FIVE.map((name) => `"m:${name}"`).join('\n'))
const upload = { layer: 'user', name: 'm', source, precondition: {} } as const
const REFUSED = {
  code: 'SCHEMA_REJECTED',
  message:
    '3 of 5 definitions were checked in 20 s, which is all that one request may take. Nothing was written. Send fewer definitions at a time, or simplify their schemas.',
}

test.each(['fail', 'skip'] as const)(
  'a bulk that is checked for too long is refused as a whole (onInvalid=%s)',
  async (onInvalid) => {
    await using it = writing(7)
    const { writer, written } = it
    const options = { onConflict: 'upsert', onInvalid } as const
    await expect(writer.putAll(ANN, 'user', bulk, options)).rejects.toMatchObject(REFUSED)
    expect(await written()).toEqual([])
  },
)

test('a module whose specs are checked for too long is refused as a whole', async () => {
  await using it = writing(7)
  const { modules, written } = it
  await expect(modules.put(ANN, upload)).rejects.toMatchObject(REFUSED)
  expect(await written()).toEqual([])
})

test('what is checked in time is written, and each request has a time of its own', async () => {
  await using it = writing(4.9)
  const { writer, modules, written } = it
  await writer.putAll(ANN, 'user', bulk, { onConflict: 'upsert', onInvalid: 'fail' })
  await modules.put(ANN, upload)
  expect((await written()).toSorted()).toEqual([...FIVE, ...FIVE.map((name) => `m:${name}`)])
})

test('a bulk and a module whose caller has gone are checked no further, and nothing is written', async () => {
  await using it = writing(1)
  const gone = new AbortController()
  const asked: string[] = []
  const compiler = it.compilers.forCaller({ user: 'ann', signal: gone.signal })
  it.compilers.forCaller = () => ({
    goOn: compiler.goOn,
    compile: (schema) => {
      asked.push('asked')
      if (asked.length % 2 === 0) gone.abort()
      return it.compilers.own.compile(schema)
    },
  })
  const { signal } = gone
  const options = { onConflict: 'upsert', onInvalid: 'skip', signal } as const
  await expect(it.writer.putAll(ANN, 'user', bulk, options)).rejects.toMatchObject({ code: 'CANCELLED' })
  await expect(it.modules.put(ANN, { ...upload, signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  expect([asked.length, await it.written()]).toEqual([2, []])
})

test('others have a turn while the definitions of a bulk are refused, which wait for nothing', async () => {
  await using it = writing(0)
  const wide = Array.from({ length: 6_000 }, () => ({ type: 'string' }))
  const sent = Array.from({ length: 100 }, (_, index) => ({
    ...tool(`T${index}`),
    function: { name: `T${index}`, description: 'd', parameters: { anyOf: wide } },
  }))
  const state = { turns: 0, isOver: false }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) state.turns += 1
  }
  const turns = others()
  const options = { onConflict: 'upsert', onInvalid: 'skip' } as const
  const { refused } = await it.writer.putAll(ANN, 'user', sent, options)
  state.isOver = true
  await turns
  expect(refused?.length).toBe(100)
  expect(state.turns).toBeGreaterThan(5)
})
