import { expect, test } from '@jest/globals'
import { STRETCH_MS } from '../../../../functions/src/loop-turn.ts'
import { admitModule } from '../../../../functions/src/catalog/definitions/admit-module.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { lockOf } from '../../../support/module-changes.ts'
import { checkedModule } from '../../../support/reading-runner.ts'

/** Keeps the thread a little longer than others are to wait. */
function work(): void {
  const endMs = performance.now() + STRETCH_MS + 1
  while (performance.now() < endMs);
}

test('others have a turn between the specs of a module, also where no check waits for anything', async () => {
  const names = ['m:a', 'm:b', 'm:c']
  const tools = names.map((name) => ({
    name,
    line: 1,
    accepted: true,
    description: 'One.',
    parameters: { type: 'object' },
    derived: [],
    annotations: null,
    timeoutSeconds: null,
    secrets: [],
    network: [],
    faults: [],
    notes: [],
    examples: [],
  }))
  const checked = { faults: [], notes: [], imports: [], missingImports: [], tools, log: { text: '' } }
  const runner = { check: () => Promise.resolve(checked) } as unknown as Runner
  const seen: string[] = []
  const compiler = {
    compile() {
      seen.push('spec')
      setImmediate(() => seen.push('others'))
      work()
      return Promise.resolve({ faults: [], unenforced: [] })
    },
  }
  await admitModule({ name: 'm', source: new Uint8Array(), tenant: 'ann' }, { runner, compiler })
  expect(seen.slice(0, 5)).toEqual(['spec', 'others', 'spec', 'others', 'spec'])
})

test('the limits of a spec are those of its definition', async () => {
  const checked = checkedModule('"m:a"')
  const limits = { callsPerMinute: 30, concurrent: 2 }
  const tools = checked.tools.map((spec) => ({ ...spec, timeoutSeconds: 5, limits }))
  const runner = { check: () => Promise.resolve({ ...checked, tools }) } as unknown as Runner
  const compiler = { compile: () => Promise.resolve({ faults: [], unenforced: [] }) }
  const module = { name: 'm', source: new Uint8Array(), tenant: 'ann' }
  const { specs } = await admitModule(module, { runner, compiler })
  expect(specs.map(({ admitted }) => admitted?.definition.limits)).toEqual([{ timeoutSeconds: 5, ...limits }])
})

const notInstalled = (name: string) => ({
  code: 'MODULE_BROKEN',
  kind: 'import_not_installed',
  message: `m.py, line 1: the module imports '${name}', which is not installed here.`,
  line: 1,
})

test('a missing package that a fault names is told once', async () => {
  const note = {
    kind: 'import_unavailable',
    message: "m.py, line 3: 'two' is not installed here, so this import will fail.",
    line: 3,
  }
  const checked = {
    faults: [notInstalled('one')],
    notes: [note],
    imports: ['one', 'two'],
    missingImports: ['one', 'two'],
    tools: [],
    log: { text: '' },
  }
  const runner = { check: () => Promise.resolve(checked) } as unknown as Runner
  const compiler = { compile: () => Promise.resolve({ faults: [], unenforced: [] }) }
  const admitted = admitModule({ name: 'm', source: new Uint8Array(), tenant: 'ann' }, { runner, compiler })
  await expect(admitted).rejects.toMatchObject({
    details: [
      { kind: 'import_not_installed', import: 'one', message: notInstalled('one').message },
      { kind: 'import_not_installed', import: 'two', message: note.message },
    ],
  })
})

const EMPTY = { faults: [], notes: [], imports: [], missingImports: [], tools: [], log: { text: '' } }
const compiler = { compile: () => Promise.resolve({ faults: [], unenforced: [] }) }
const admitted = (checked: object) =>
  admitModule(
    { name: 'm', source: new Uint8Array() },
    { runner: { check: () => Promise.resolve({ ...EMPTY, ...checked }) }, compiler },
  )

test('a module whose only faults are packages is refused as that, with all details', async () => {
  const ofPackages = ['one', 'two'].map((name) => ({
    code: 'PACKAGES_REFUSED' as const,
    kind: 'packages_conflict',
    message: `${name} is refused.`,
  }))
  await expect(admitted({ faults: ofPackages })).rejects.toMatchObject({
    code: 'PACKAGES_REFUSED',
    message: 'one is refused. (and 1 more, see details)',
    details: ofPackages.map(({ code, ...fault }) => ({ reason: code, ...fault })),
  })
  const broken = { code: 'MODULE_BROKEN', kind: 'syntax_error', message: 'Broken.' }
  await expect(admitted({ faults: [...ofPackages, broken] })).rejects.toMatchObject({
    code: 'MODULE_INVALID',
  })
  await expect(admitted({})).rejects.toMatchObject({ code: 'MODULE_INVALID' })
})

test('a lock that no request has room for is refused', async () => {
  const lock = lockOf('1.0')
  const [one] = lock.packages
  const packages = { ...lock, packages: Array.from({ length: 3_000 }, () => one) }
  const { tools } = checkedModule('"m:a"')
  await expect(admitted({ tools, packages })).rejects.toMatchObject({
    code: 'PACKAGES_REFUSED',
    details: [{ kind: 'lock_too_large', message: expect.stringContaining('3,000 packages') }],
  })
  expect(await admitted({ tools, packages: lock })).toMatchObject({
    lock,
    grants: [{ kind: 'packages', value: 'six' }],
    report: { packages: { digest: lock.digest, packages: [{ name: 'six', version: '1.0', bytes: 11_000 }] } },
  })
})
