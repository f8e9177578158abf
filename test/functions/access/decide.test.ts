import { expect, test } from '@jest/globals'
import { authorise, decide } from '../../../functions/src/access/decide.ts'
import { GOVERN as govern, onLayer, READ as read, type Action } from '../../../functions/src/access/action.ts'
import type { Principal } from '../../../functions/src/access/principal.ts'
import { WRITE_AGENTS as writeAgents } from '../../../functions/src/features/agents/agent-actions.ts'
import { READ_APPROVALS as readApprovals } from '../../../functions/src/features/approvals/approval-actions.ts'
import { ERASE_AUDIT, readAudit, VERIFY_AUDIT } from '../../../functions/src/features/audit/audit-actions.ts'
import { READ_VERSIONS as readVersions } from '../../../functions/src/features/definitions/definition-actions.ts'
import { REFRESH as refresh } from '../../../functions/src/features/folder/folder-actions.ts'
import { MINT as mint } from '../../../functions/src/features/job-tokens/token-actions.ts'
import { onRules } from '../../../functions/src/features/rules/rule-actions.ts'
import { grantOf } from '../../../functions/src/access/principal.ts'

const user: Principal = { kind: 'user', uid: 'u', isAdmin: false }
const approver: Principal = { ...user, mayApprove: true }
const admin: Principal = { kind: 'user', uid: 'a', isAdmin: true }
const job: Principal = { kind: 'job', uid: 'u', isAdmin: false }
const local: Principal = { kind: 'job', uid: 'local', isAdmin: true }
const grant = grantOf([{ name: 'READ_FILE', digest: `sha256:${'a'.repeat(64)}` }])
const tokenJob: Principal = { kind: 'job', uid: 'u', isAdmin: false, grant, workflowId: 'w' }
const writeRules = (owner: 'user' | 'everybody', id: string): Action => onRules('write-rules', owner, id)
const write = (layer: 'user' | 'global' | 'file'): Action => onLayer('write', layer)

test.each<[string, Principal, string, Action]>([
  ['a user', user, 'read', read],
  ['a job', job, 'read', read],
  ['an admin', admin, 'read', read],
  ['a job token', tokenJob, 'read', read],
  ['a user', user, 'read versions', readVersions],
  ['a job', job, 'read versions', readVersions],
  ['a user', user, 'mint', mint],
  ['an admin', admin, 'mint', mint],
  ['an admin', admin, 'have the folder read anew', refresh],
  ['the local token as a job', local, 'write the global layer', write('global')],
  ['a user', user, 'write their own layer', write('user')],
  ['a job', job, "write its user's layer", write('user')],
  ['a user', user, 'write agents', writeAgents],
  ['a job', job, 'write the agents of its user', writeAgents],
  ['a user', user, 'read approvals', readApprovals],
  ['an approver', approver, 'govern calls', govern],
  ['an approver', approver, 'write their own rules', writeRules('user', 'u')],
  [
    'an admin who may approve',
    { ...admin, mayApprove: true },
    'write rules for everybody',
    writeRules('everybody', 'all'),
  ],
  ['an admin', admin, 'write their own layer', write('user')],
  ['an admin', admin, 'write the global layer', write('global')],
  ['a user', user, 'read their own records', readAudit('u')],
  ['a user', user, 'read the records they may see', readAudit(undefined)],
  ['an admin', admin, "read others' records", readAudit('u')],
  ['an admin', admin, 'verify the records', VERIFY_AUDIT],
  ['an admin who may approve', { ...admin, mayApprove: true }, 'erase records', ERASE_AUDIT],
])('%s (%j) may %s', (_who, principal, _what, action) => {
  expect(decide(principal, action)).toEqual({ allowed: true })
  expect(() => authorise(principal, action)).not.toThrow()
})

test.each<[string, Principal, string, Action, RegExp]>([
  ['a user', user, 'write the global layer', write('global'), /Only an admin/],
  ['a job', job, 'write the global layer', write('global'), /Only an admin/],
  ['a user', user, 'write the file layer', write('file'), /editing its files/],
  ['an admin', admin, 'write the file layer', write('file'), /editing its files/],
  ['a job', job, 'mint', mint, /Only a user may mint/],
  ['a user', user, 'have the folder read anew', refresh, /Only an admin/],
  ['a job', job, 'have the folder read anew', refresh, /Only an admin/],
  ['a job token', tokenJob, 'have the folder read anew', refresh, /may not refresh the folder/],
  ['the local token as a job', local, 'mint', mint, /Only a user may mint/],
  ['a job', job, 'read approvals', readApprovals, /Only a user may read/],
  ['a job token', tokenJob, 'write agents', writeAgents, /never writes/],
  ['a job token', tokenJob, 'read approvals', readApprovals, /never reads/],
  [
    'a user whose token may only call',
    user,
    'govern calls',
    govern,
    /in the file approver-token of the data folder/,
  ],
  ['an admin whose token may only call', admin, 'govern calls', govern, /file approver-token/],
  [
    'an admin whose token may only call',
    admin,
    'write rules',
    writeRules('everybody', 'all'),
    /file approver-token/,
  ],
  ['an approver', approver, 'write rules for everybody', writeRules('everybody', 'all'), /Only an admin/],
  ['a job token', tokenJob, 'write rules', writeRules('user', 'u'), /may not write rules/],
  ['a job', job, 'govern calls', govern, /Only a user may decide/],
  ['the local token as a job', local, 'govern calls', govern, /Only a user may decide/],
  ['a job token', tokenJob, 'govern calls', govern, /never decides/],
  ['a job token', tokenJob, 'mint', mint, /never mints/],
  ['a user', user, "read others' records", readAudit('other'), /Only an admin/],
  ['a user', user, 'verify the records', VERIFY_AUDIT, /Only an admin/],
  ['a user', user, 'erase records', ERASE_AUDIT, /Only an admin/],
  ['an admin with the token of models', admin, 'erase records', ERASE_AUDIT, /approver-token/],
  ['a job', job, 'read records', readAudit('u'), /Only a user/],
  ['the local token as a job', local, 'verify the records', VERIFY_AUDIT, /Only a user/],
  ['a job token', tokenJob, 'read records', readAudit('u'), /cannot read the audit/],
  ['a job token', tokenJob, 'erase records', ERASE_AUDIT, /never erases/],
  ['a job token', tokenJob, 'read versions', readVersions, /older versions/],
  ['a job token', tokenJob, "write its user's layer", write('user'), /never writes/],
  ['a job token', tokenJob, 'write the global layer', write('global'), /never writes/],
  ['a job token', tokenJob, 'write the file layer', write('file'), /never writes/],
])('%s (%j) may not %s, and is told why', (_who, principal, _what, action, reason) => {
  const decision = decide(principal, action)
  expect(decision).toEqual({ allowed: false, reason: expect.stringMatching(reason) })
  expect(() => authorise(principal, action)).toThrow(
    expect.objectContaining({ code: 'PERMISSION_DENIED', message: expect.stringMatching(reason) }),
  )
})
