import { isUid, UID_RULE } from '../../access/principal.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import type { DeclaredBody } from '../../http/body-kinds.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { refuseParameters } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendJson, sendTagged } from '../../http/send-json.ts'
import { readCallLimits } from '../../call-limits.ts'
import { readLimits, WRITE_LIMITS } from './limit-actions.ts'
import {
  LIMIT_KINDS,
  limitsNotFound,
  type KeptLimits,
  type LimitOwner,
  type OwnerLimits,
} from './owner-limits.ts'

const PATH = '/limits/:kind/:id'
const LIMITS_BODY: DeclaredBody = {
  what: 'A body with limits',
  size: 'single',
  wayOut: 'It needs only two numbers.',
}

export function limitRoutes({ ownerLimits }: { readonly ownerLimits: OwnerLimits }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      schemas: async () => (await import('./limit-schemas.ts')).READ_LIMITS,
      ask: askedOwner,
      action: readLimits,
      async handle({ asked: owner, res }) {
        const kept = await ownerLimits.find(owner)
        if (!kept) throw limitsNotFound()
        sendTagged(res, kept.digest, () => shown(owner, kept))
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      schemas: async () => (await import('./limit-schemas.ts')).WRITE_LIMITS,
      takesBody: true,
      ask: askedWrite,
      action: WRITE_LIMITS,
      async handle(request) {
        const { principal, asked, res, note } = request
        const { owner, precondition } = asked
        const limits = readCallLimits(await readObject(request, LIMITS_BODY))
        if ('fault' in limits)
          throw bodyInvalid(`The body${limits.at && ` at ${limits.at}`}: ${limits.fault}.`)
        if (Object.keys(limits).length === 0)
          throw bodyInvalid(
            'The body: it needs callsPerMinute, concurrent, or both. DELETE takes all limits away.',
          )
        const { outcome, ...kept } = await ownerLimits.put(owner, limits, {
          uid: principal.uid,
          precondition,
        })
        note?.({ digest: kept.digest, subject: { outcome } })
        const answer = { ...shown(owner, kept), outcome }
        sendJson(res, outcome === 'created' ? 201 : 200, answer, { ETag: `"${kept.digest}"` })
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      schemas: async () => (await import('./limit-schemas.ts')).DELETE_LIMITS,
      ask: askedWrite,
      action: WRITE_LIMITS,
      async handle({ asked: { owner, precondition }, res, note }) {
        const digest = await ownerLimits.delete(owner, precondition)
        note?.({ digest, subject: { outcome: 'deleted' } })
        res.writeHead(204, { 'Cache-Control': 'private, no-store' }).end()
      },
    }),
  ]
}

function shown(owner: LimitOwner, { limits, digest, updatedAt, updatedBy }: KeptLimits) {
  return { owner, ...limits, digest, updatedAt, updatedBy }
}

function askedWrite(request: FoundRequest<typeof PATH>) {
  return { owner: askedOwner(request), precondition: preconditionOf(request.req.headers) }
}

type OwnerPath = { readonly kind: string; readonly id: string }

function askedOwner({ params, search }: { readonly params: OwnerPath; readonly search: string }): LimitOwner {
  refuseParameters({ search })
  const kind = LIMIT_KINDS.find((one) => one === params.kind)
  if (!kind) throw wrongOwner(`the kind of an owner is ${LIMIT_KINDS.join(' or ')}`)
  if (kind === 'user' && !isUid(params.id)) throw wrongOwner(UID_RULE)
  if (kind === 'workflow' && !isWorkflowId(params.id))
    throw wrongOwner(`the id of a workflow ${WORKFLOW_ID_RULE}`)
  return { kind, id: params.id }
}

function wrongOwner(rule: string) {
  return limitsNotFound(`There is no such owner of limits: ${rule}.`)
}
