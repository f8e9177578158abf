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

  test('rules that cannot be read refuse calls and tokens, and a list says that it is without them', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc('tools/rules').set({ text: 'no rules' })
    await firestore.terminate()
    await using service = await firestoreService(connectionTo(projectId), { hasRules: true })
    // On a busy machine the first reads of the layers can be late.
    const list = await until(
      () => service.fetch('/workflows/tools/list'),
      ({ headers }) => headers.get('X-Tools-Layers') === 'user=0,global=0,file=1,rules=error',
    )
    expect(list.status).toBe(200)
    expect(await list.json()).toMatchObject([{ function: { name: 'inFile' } }])
    const strict = await service.fetch('/workflows/tools/list?strict=1')
    expect([strict.status, strict.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await call(service)).toMatchObject({ code: 'STORE_FAILED' })
    expect(await (await service.fetch('/health')).json()).toMatchObject({
      status: 'degraded',
      rules: 'error',
    })
    const again = openFirestore(projectId)
    await again.doc('tools/rules').delete()
    await again.terminate()
    const whole = await until(
      () =>
        service.fetch('/workflows/tools/list', {
          headers: { 'If-None-Match': list.headers.get('ETag') ?? '' },
        }),
      ({ headers }) => headers.get('X-Tools-Layers') === 'user=0,global=0,file=1',
    )
    // The entity tag of the list without rules is not that of the whole list.
    expect(whole.status).toBe(200)
  })
})
