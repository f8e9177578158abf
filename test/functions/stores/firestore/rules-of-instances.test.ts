import { expect, test } from '@jest/globals'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { firestoreService, type FirestoreService } from '../../../support/firestore-service.ts'
import { until } from '../../../support/until.ts'

const RULES = JSON.stringify({ rules: [{ effect: 'deny', tool: 'inFile' }] })

async function listed(service: FirestoreService): Promise<readonly string[]> {
  const answer = await service.fetch('/workflows/tools/list')
  expect(answer.status).toBe(200)
  const tools = (await answer.json()) as readonly { function: { name: string } }[]
  return tools.map((tool) => tool.function.name)
}

async function call(service: FirestoreService): Promise<unknown> {
  const body = JSON.stringify({ name: 'inFile' })
  return (await service.fetch('/workflows/tools/invoke', { method: 'POST', body })).json()
}

describeOnEmulator('rules of several instances over Firestore', () => {
  test('a rule that one instance writes hides and refuses the tool there at once, and a moment later everywhere', async () => {
    const projectId = newProject()
    await using one = await firestoreService(connectionTo(projectId), { hasRules: true })
    await using other = await firestoreService(connectionTo(projectId), { hasRules: true })
    expect([await listed(one), await listed(other)]).toEqual([['inFile'], ['inFile']])
    const written = await one.fetch('/workflows/rules/user/ann', { method: 'PUT', body: RULES })
    expect(written.status).toBe(201)
    expect(await listed(one)).toEqual([])
    expect(await call(one)).toMatchObject({ code: 'PERMISSION_DENIED', meta: { decision: { rule: 0 } } })
    await until(
      () => listed(other),
      (names) => names.length === 0,
    )
    expect(await call(other)).toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  test('rules that cannot be read refuse lists and calls, though the tools could be listed', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc('tools/rules').set({ text: 'no rules' })
    await firestore.terminate()
    await using service = await firestoreService(connectionTo(projectId), { hasRules: true })
    const answer = await service.fetch('/workflows/tools/list')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await call(service)).toMatchObject({ code: 'STORE_FAILED' })
  })
})
