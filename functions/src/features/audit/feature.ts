import type { Authorised } from '../../calls/call.ts'
import type { RecordRequest } from '../../http/route.ts'
import { auditCall, auditStart, noteStart } from './audit-call.ts'
import { auditRoutes } from './audit-routes.ts'
import type { AuditTrail } from './audit-trail.ts'
import { audited } from './audited-requests.ts'

/** `audit` is undefined if the operator has switched the trail off. */
type Needs = { readonly audit?: AuditTrail | undefined }

/** The audit trail, which records every call and every request that changes something. */
export const audit = {
  name: 'audit',
  create({ audit: trail }: Needs): { readonly record: RecordRequest | undefined } {
    return { record: trail && ((request, act) => audited(trail, request, act)) }
  },
  steps: ({ audit: trail }: Needs) => ({
    'audit the call': trail && auditCall(trail),
    'record the start':
      trail && (trail.isRequired ? auditStart<Authorised>(trail) : noteStart<Authorised>(trail)),
  }),
  routes: auditRoutes,
  close: ({ audit: trail }: Needs) => trail?.close(),
}
