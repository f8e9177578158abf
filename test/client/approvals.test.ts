import { afterAll, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { localAccess } from '../../functions/src/hosts/authentication.ts'
import {
  ToolDispatcher,
  type OnApproval,
  type ToolDispatcherOptions,
} from '../../packages/client/src/index.ts'
import { inProcess } from '../support/in-process.ts'

const [TOKEN, APPROVER] = ['t'.repeat(43), 'a'.repeat(43)]
const ECHO: ToolDefinition = {
  type: 'function',
  function: {
    name: 'ECHO',
    description: 'Says the text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
  },
  runner: { kind: 'builtin', builtin: 'echo' },
}
const service = await inProcess(localAccess(TOKEN, undefined, Date.now, APPROVER), [ECHO], Date.now, {
  operatorRules: {
    owner: { kind: 'everybody', id: 'file' },
    set: { default: 'allow', rules: [{ effect: 'ask', tool: 'ECHO' }] },
  },
})
afterAll(() => service[Symbol.asyncDispose]())

const dispatcher = (options: Partial<ToolDispatcherOptions> = {}) =>
  new ToolDispatcher({ service: service.url, token: TOKEN, ...options })
const notNow: OnApproval = () => false
const use = (text: string) => [{ type: 'tool_use', id: 'a', name: 'ECHO', input: { text } }]

/** Decides as a user at another terminal does. */
function decidedBy(decision: string): { readonly onApproval: OnApproval; readonly asked: unknown[] } {
  const asked: unknown[] = []
  return {
    asked,
    onApproval: async (call) => {
      asked.push(call)
      await fetch(`${service.url}/workflows/approvals/${call.id}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${APPROVER}` },
        body: JSON.stringify({ decision }),
      })
    },
  }
}

test('with onApproval, invoke and dispatch wait for the decision, and the call runs', async () => {
  const { onApproval, asked } = decidedBy('once')
  const ours = dispatcher({ onApproval })
  expect(await ours.invoke('ECHO', { text: 'one' })).toMatchObject({
    resultType: 'success',
    textResultForLlm: 'one',
  })
  const { results, pending } = await ours.dispatch(use('two'))
  expect(pending).toEqual([])
  expect(results).toMatchObject([{ id: 'a', result: { resultType: 'success', textResultForLlm: 'two' } }])
  const call = { id: expect.any(String), expiresAt: expect.any(String), name: 'ECHO' }
  expect(asked).toEqual([
    { ...call, arguments: { text: 'one' } },
    { ...call, arguments: { text: 'two' } },
  ])
})

test('a denied call is a failure that the model reads', async () => {
  const ours = dispatcher({ onApproval: decidedBy('deny').onApproval })
  expect(await ours.invoke('ECHO', { text: 'denied' })).toMatchObject({ code: 'APPROVAL_DENIED' })
})

test("a decision that the callback returns is sent with the client's own token", async () => {
  const ours = dispatcher({ token: APPROVER, onApproval: () => 'once' })
  expect(await ours.invoke('ECHO', { text: 'own' })).toMatchObject({ textResultForLlm: 'own' })
  const mayOnlyCall = dispatcher({ onApproval: () => 'once' })
  await expect(mayOnlyCall.invoke('ECHO', { text: 'not' })).rejects.toMatchObject({
    code: 'SERVICE_REFUSED',
    status: 403,
  })
})

test('an onApproval that returns something else is a mistake of the program', async () => {
  const refused = { code: 'OPTION_INVALID', message: expect.stringContaining('onApproval must return') }
  const ours = dispatcher({ token: APPROVER, onApproval: () => true as never })
  await expect(ours.invoke('ECHO', { text: 'true' })).rejects.toMatchObject(refused)
})

test('without onApproval, and if it returns false, the call is pending and can be made later', async () => {
  for (const onApproval of [undefined, notNow]) {
    const ours = dispatcher({ onApproval })
    expect(await ours.invoke('ECHO', { text: 'later' })).toMatchObject({ code: 'APPROVAL_REQUIRED' })
    const { pending, results } = await ours.dispatch(use('later'))
    expect(results).toEqual([])
    expect(pending).toMatchObject([{ kind: 'approval', name: 'ECHO', arguments: { text: 'later' } }])
  }
  const [waiting] = (await dispatcher().dispatch(use('later'))).pending
  if (waiting?.kind !== 'approval') throw new Error('the call is not pending')
  await decidedBy('once').onApproval({ ...waiting.approval, name: '', arguments: {} })
  const result = await dispatcher().invoke('ECHO', waiting.arguments, { approval: waiting.approval.id })
  expect(result).toMatchObject({ textResultForLlm: 'later' })
  const { messages } = dispatcher().complete(use('later'), [{ index: 0, result }])
  expect(JSON.stringify(messages)).toContain('"content":"later"')
})

test('a caller who leaves no longer waits', async () => {
  const leaving = new AbortController()
  const ours = dispatcher({
    onApproval: () => setTimeout(() => leaving.abort(new Error('left')), 50) && undefined,
  })
  const waiting = ours.invoke('ECHO', { text: 'left' }, { signal: leaving.signal })
  await expect(waiting).rejects.toThrow('left')
})
