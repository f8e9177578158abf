import { expect, test } from '@jest/globals'
import { Agents } from '../../../../functions/src/features/agents/agents.ts'
import { memoryStores } from '../../../support/memory-governance.ts'

test('default is the default agent, also if another program has kept an agent with that id', async () => {
  const store = memoryStores().agents
  const files = { read: () => Promise.resolve({ agents: new Map(), skipped: [] }) }
  const agents = new Agents({ store, files, now: () => 1 })
  const kept = { id: 'default', name: 'Kept', description: null, workflowName: null, created: 1, updated: 1 }
  await store.change('ann', 'default', () => ({ agent: { ...kept, tools: ['X'] }, result: undefined }))
  expect(await agents.tools('ann', 'default')).toEqual([])
  expect(await agents.find('ann', 'default')).toMatchObject({ name: 'Default' })
  expect(await agents.list('ann', 10, 'desc')).toEqual([])
  await expect(agents.addTools('ann', 'default', ['Y'])).rejects.toMatchObject({ code: 'AGENT_CONFLICT' })
  await expect(agents.delete('ann', 'default')).rejects.toMatchObject({ code: 'AGENT_CONFLICT' })
})
