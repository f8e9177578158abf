import { expect, test } from '@jest/globals'
import { STRETCH_MS } from '../../../../functions/src/loop-turn.ts'
import { admitModule } from '../../../../functions/src/tools/modules/admit-module.ts'
import type { Runner } from '../../../../functions/src/tools/modules/runner.ts'

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
