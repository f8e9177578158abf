import { expect, test } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { isAlive } from '../../../support/processes.ts'
import { greedySchema, slowSchema } from '../../../support/schema-shapes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

const OBEDIENT = new URL('../../../support/schema-workers/obedient-worker.ts', import.meta.url)
const ADMITTED = { faults: [], unenforced: [] }
const FOREVER = 2_000_000_000

function compilersWith(
  options: ConstructorParameters<typeof SchemaCompilers>[0],
): AsyncDisposable & { it: SchemaCompilers } {
  const it = new SchemaCompilers(options)
  return { it, [Symbol.asyncDispose]: () => it.close() }
}

/** On a busy machine even a small schema may miss a short deadline once. */
function untilAdmitted(compilers: SchemaCompilers): Promise<unknown> {
  return until(
    () => compilers.own.compile({}),
    ({ faults }) => faults.length === 0,
  )
}

test('a schema inside every limit that compiles too slowly is refused at the deadline, and the next one is admitted', async () => {
  await using compilers = compilersWith({ deadlineMs: 100 })
  const { faults } = await compilers.it.own.compile(slowSchema())
  expect(faults).toEqual([
    { pointer: '', message: 'the schema could not be compiled within 100 ms; simplify it' },
  ])
  await using patient = compilersWith({ deadlineMs: FOREVER })
  expect(await patient.it.own.compile(slowSchema())).toEqual(ADMITTED)
  expect(await untilAdmitted(compilers.it)).toEqual(ADMITTED)
})

test('a worker that never answers is killed and replaced', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: 50 })
  const { faults } = await compilers.it.own.compile({ title: 'hang' })
  expect(faults).toEqual([
    { pointer: '', message: 'the schema could not be compiled within 50 ms; simplify it' },
  ])
  expect(await untilAdmitted(compilers.it)).toEqual(ADMITTED)
})

test('a worker that exits without a word is replaced, and nobody waits for the deadline', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  const { faults } = await compilers.it.own.compile({ title: 'exit' })
  expect(faults).toEqual([
    {
      pointer: '',
      message: 'the schema could not be compiled (its process has ended: exit code 1); simplify it',
    },
  ])
  expect(await compilers.it.own.compile({})).toEqual(ADMITTED)
})

test('a schema that fills the memory of the worker ends nothing but the worker', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  const { faults } = await compilers.it.own.compile({ title: 'fill' })
  expect(faults).toEqual([
    { pointer: '', message: 'the schema could not be compiled within 96 MB of memory; simplify it' },
  ])
  expect(await compilers.it.own.compile({})).toEqual(ADMITTED)
})

test('patterns that need more memory than the worker has are refused, and the next schema is admitted', async () => {
  await using compilers = compilersWith({ deadlineMs: FOREVER })
  const { faults } = await compilers.it.own.compile(greedySchema())
  expect(faults).toEqual([
    { pointer: '', message: 'the schema could not be compiled within 96 MB of memory; simplify it' },
  ])
  expect(await compilers.it.own.compile({})).toEqual(ADMITTED)
})

/** The process that answers. */
async function pidOf(compilers: SchemaCompilers): Promise<number> {
  return Number((await compilers.own.compile({ title: 'pid' })).unenforced[0])
}

test('the worker is a process of its own, is kept, and is gone when the checker is closed', async () => {
  const compilers = new SchemaCompilers({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  const pid = await pidOf(compilers)
  expect(pid).not.toBe(process.pid)
  expect(await pidOf(compilers)).toBe(pid)
  await compilers.close()
  expect(isAlive(pid)).toBe(false)
})

test('a worker without work is ended, and another is started for the next schema', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER, idleMs: 1 })
  const pid = await pidOf(compilers.it)
  await until(
    () => Promise.resolve(isAlive(pid)),
    (lives) => !lives,
  )
  expect(await pidOf(compilers.it)).not.toBe(pid)
})

test('a worker that is busy for ever is gone when the process that asked it was killed', async () => {
  using folder = temporaryFolder()
  const busy = join(folder.path, 'busy')
  const compilersUrl = new URL(
    '../../../../functions/src/catalog/schemas/schema-compilers.ts',
    import.meta.url,
  )
  const asks = `
    const { SchemaCompilers } = await import(${JSON.stringify(compilersUrl.href)})
    const compilers = new SchemaCompilers({ workerUrl: new URL(${JSON.stringify(OBEDIENT.href)}), deadlineMs: ${FOREVER} })
    const { unenforced: [pid] } = await compilers.own.compile({ title: 'pid' })
    console.log(pid)
    await compilers.own.compile({ title: ${JSON.stringify(`mark-and-hang ${busy}`)} })`
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', asks], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(said.toString())
  await until(
    () => Promise.resolve(existsSync(busy)),
    (isBusy) => isBusy,
  )
  expect(isAlive(pid)).toBe(true)
  parent.kill('SIGKILL')
  await until(
    () => Promise.resolve(isAlive(pid)),
    (lives) => !lives,
  )
})

test('a schema that crashes the worker is refused, and the next one is admitted by another worker', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  const { faults } = await compilers.it.own.compile({ title: 'throw' })
  expect(faults).toEqual([
    { pointer: '', message: 'the schema could not be compiled (the worker threw); simplify it' },
  ])
  expect(await compilers.it.own.compile({})).toEqual(ADMITTED)
})

test('a worker that dies after its answer ends neither the service nor the checker', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  await using other = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  expect(await compilers.it.own.compile({ title: 'answer-and-throw' })).toEqual(ADMITTED)
  expect(await other.it.own.compile({})).toEqual(ADMITTED)
  expect(await untilAdmitted(compilers.it)).toEqual(ADMITTED)
})

test('a worker that could not start is started again for the next schema', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'worker.ts')
  await using compilers = compilersWith({ workerUrl: pathToFileURL(path), deadlineMs: FOREVER })
  await expect(compilers.it.own.compile({})).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
  writeFileSync(path, `import ${JSON.stringify(OBEDIENT.href)}`)
  expect(await compilers.it.own.compile({})).toEqual(ADMITTED)
})

test('the main thread is free while the worker is busy', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'go')
  await using busy = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  await using other = compilersWith({ deadlineMs: FOREVER })
  const pending = busy.it.own.compile({ title: `await ${path}` })
  expect(await other.it.own.compile({ type: 'object' })).toEqual(ADMITTED)
  expect(await Promise.race([pending, Promise.resolve('still busy')])).toBe('still busy')
  writeFileSync(path, '')
  expect(await pending).toEqual(ADMITTED)
})

test('a report that waits for a busy main thread is taken, though its deadline has passed', async () => {
  using folder = temporaryFolder()
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: 1 })
  await untilAdmitted(compilers.it)
  const path = join(folder.path, 'answered')
  await nextTurn()
  const pending = compilers.it.own.compile({ title: `mark ${path}` })
  for (let tick = 0; tick < 10; tick += 1) await Promise.resolve()
  for (let checks = 0; checks < 1_000_000 && !existsSync(path); checks += 1);
  spawnSync(process.execPath, ['--version'])
  expect(existsSync(path)).toBe(true)
  expect(await pending).toEqual(ADMITTED)
})

const MANY = 40

test('each of several schemas at once gets its own report', async () => {
  await using compilers = compilersWith({ deadlineMs: FOREVER })
  const reports = await Promise.all(
    Array.from({ length: MANY }, (_, n) =>
      compilers.it.own.compile({ properties: { [`p${n}`]: { pattern: '(?=x)' } } }),
    ),
  )
  expect(reports.map(({ unenforced }) => unenforced.map(({ pointer }) => pointer))).toEqual(
    Array.from({ length: MANY }, (_, n) => [`/properties/p${n}/pattern`]),
  )
})

test('the worker sees nothing of the environment but the folder of the compile cache', async () => {
  await using compilers = compilersWith({ workerUrl: OBEDIENT, deadlineMs: FOREVER })
  const expected = getCompileCacheDir() === undefined ? [] : ['NODE_COMPILE_CACHE']
  expect(Object.keys(process.env).length).toBeGreaterThan(expected.length)
  expect((await compilers.it.own.compile({ title: 'environment' })).unenforced).toEqual(expected)
})
