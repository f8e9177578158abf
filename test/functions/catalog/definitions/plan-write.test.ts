import { expect, test } from '@jest/globals'
import type { StoredDefinition } from '../../../../functions/src/catalog/views/layer-source.ts'
import { LAYER_LIMITS, NO_TOTALS } from '../../../../functions/src/catalog/definitions/layer-totals.ts'
import { managingModule, planWrite } from '../../../../functions/src/catalog/definitions/plan-write.ts'
import { put, remove, tool } from '../../../support/definition-changes.ts'
import { moduleTool } from '../../../support/module-changes.ts'

const M = { name: 'm', presentGrowth: 0 }
const ROOM = { size: 1, totals: NO_TOTALS, limits: LAYER_LIMITS.user }

test.each([
  ['a module’s', 'm', moduleTool('m', 'a', 'x')],
  ['one that runs Python and names no module', '', { ...tool('a'), runner: { kind: 'python' } }],
  ['a workflow’s', undefined, { ...tool('a'), runner: { kind: 'workflow', workflowName: 'w', module: 'm' } }],
  ['one without a runner', undefined, tool('a')],
])('a definition that is %s belongs to %j', (_what, module, definition) => {
  expect(managingModule({ text: JSON.stringify(definition) })).toBe(module)
})

test('what another program left belongs to no module, so that its name can be freed', () => {
  const [left] = [moduleTool('m', 'a', 'x')].map((definition): StoredDefinition => {
    return { ...put(definition), revision: '1', source: 'document m:a' }
  })
  const current = new Map(left ? [['m:a', left]] : [])
  expect(planWrite([remove('m:a')], current, ROOM).map(({ outcome }) => outcome)).toEqual(['deleted'])
  expect(planWrite([put(tool('m:a'))], current, ROOM).map(({ outcome }) => outcome)).toEqual(['updated'])
  expect(() => planWrite([put(moduleTool('m', 'a', 'y'))], current, ROOM, M)).toThrow(
    'as a definition of its own',
  )
})
