import { aliasOf } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import type { CallRequest, Received, Requested, Resolved } from '../../functions/src/calls/call.ts'
import { howRun } from '../../functions/src/catalog/views/how-run.ts'
import { catalogView } from './catalog-view.ts'

/** A call that has just arrived. */
export function receivedCall(more: Partial<Received> = {}): Received {
  return {
    invocationId: 'i1',
    parentInvocationId: null,
    principal: { kind: 'user', uid: 'ann', isAdmin: false },
    isDryRun: false,
    headers: { idempotencyKey: undefined, traceparent: undefined },
    read: () => Promise.reject(new Error('this call has nothing to read')),
    signal: new AbortController().signal,
    isHeard: false,
    emit: () => undefined,
    pipeline: { invoke: () => Promise.reject(new Error('this call makes no other')) },
    ...more,
  }
}

/** A call whose request has been read. */
export function requestedCall(request: Partial<CallRequest> = {}, more: Partial<Received> = {}): Requested {
  return {
    ...receivedCall(more),
    request: { name: 'T', arguments: {}, context: {}, expectedDigest: undefined, ...request },
    readAtMs: performance.now(),
  }
}

/** A call whose tool has been resolved. The tool is in the user's layer. */
export function resolvedCall(
  definition: ToolDefinition,
  request: Partial<CallRequest> = {},
  more: Partial<Received> = {},
): Resolved {
  const { name } = definition.function
  const view = catalogView({ user: [definition] })
  const entry = view.resolve(aliasOf(name))
  if (!entry) throw new Error(`${name} is not in the catalog of the test`)
  const { runner, limits = {} } = definition
  return { ...requestedCall({ name, ...request }, more), view, entry, howRun: howRun(runner), limits }
}
