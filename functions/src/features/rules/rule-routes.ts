import { OWNER_KINDS, ToolrackError, type RuleOwner } from '@toolrack/contract'
import { onRules } from './rule-actions.ts'
import type { Action } from '../../access/action.ts'
import { isUid, UID_RULE } from '../../access/principal.ts'
import { Turns } from '../../loop-turn.ts'
import { isSessionId, SESSION_ID_RULE } from '../sessions/session.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import { checkedRules, parsedRules } from './check-rules.ts'
import type { KeptRules, RuleVersion } from './kept-rules.ts'
import { noRules } from './rule-writer.ts'
import { callerGone } from '../../http/caller.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { refuseParameters } from '../../http/query.ts'
import { readBody } from '../../http/read-body.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson, sendTagged } from '../../http/send-json.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { RuleBook } from './rule-book.ts'
import type { RuleWriter } from './rule-writer.ts'

const PATH = '/rules/:kind/:id'

type Parts = { readonly catalog: Catalog; readonly ruleBook: RuleBook; readonly ruleWriter: RuleWriter }

export function ruleRoutes({ catalog, ruleBook, ruleWriter }: Parts): readonly Route[] {
  /**
   * Adds the digest of the written rules to the audit record of the request, and the revision of the rules that now apply to the
   * writer.
   */
  async function noteWrite(
    { note, principal }: KnownRequest,
    { outcome, digest }: { readonly outcome: string; readonly digest: string },
  ): Promise<void> {
    const { revision } = await ruleBook.forList(principal)
    note?.({ digest, revision, subject: { outcome } })
  }

  return [
    // The rules of one owner. Their entity tag is the digest of the set.
    route({
      method: 'GET',
      path: PATH,
      schemas: async () => (await import('./rule-schemas.ts')).READ_RULES,
      ask: askedOwner,
      action: ruleAction,
      async handle({ principal, asked: owner, res }) {
        const kept = await ruleWriter.find({ uid: principal.uid, owner })
        if (!kept) throw noRules()
        sendTagged(res, kept.digest, () => shownRules(owner, kept))
      },
    }),
    // The versions of an owner's rules that are kept, the newest first.
    route({
      method: 'GET',
      path: `${PATH}/versions`,
      schemas: async () => (await import('./rule-schemas.ts')).LIST_VERSIONS,
      ask: askedOwner,
      action: ruleAction,
      async handle({ principal, asked: owner, res }) {
        const versions = await ruleWriter.history({ uid: principal.uid, owner })
        sendJson(res, 200, { owner, versions: versions.map(shownVersion) })
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      schemas: async () => (await import('./rule-schemas.ts')).WRITE_RULES,
      takesBody: true,
      ask: askedWrite,
      action: ({ owner }) => writeAction(owner),
      async handle(request) {
        const { principal, asked, res } = request
        const { owner } = asked
        const sent = parsedRules(await readBody(request, 'rules'))
        // The view is not filtered by rules, because a rule must still match the tool that it hides.
        const ofWhom = owner.kind === 'user' ? { uid: owner.id } : principal
        const turns = new Turns(callerGone(res))
        const { set, meets, more } = await checkedRules(sent, await catalog.view(ofWhom), turns)
        const { outcome, digest } = await ruleWriter.put({ uid: principal.uid, ...asked }, set)
        await noteWrite(request, { outcome, digest })
        const answer = { owner, outcome, digest, ...set, meets, ...(more > 0 && { more }) }
        sendJson(res, outcome === 'created' ? 201 : 200, answer, { ETag: `"${digest}"` })
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      schemas: async () => (await import('./rule-schemas.ts')).DELETE_RULES,
      ask: askedWrite,
      action: ({ owner }) => writeAction(owner),
      async handle(request) {
        const { principal, asked, res } = request
        const { outcome, digest } = await ruleWriter.delete({ uid: principal.uid, ...asked })
        await noteWrite(request, { outcome, digest })
        sendJson(res, 200, { owner: asked.owner, outcome, digest })
      },
    }),
  ]
}

function ruleAction({ kind, id }: RuleOwner): Action {
  return onRules('rules', kind, id)
}

function writeAction({ kind, id }: RuleOwner): Action {
  return onRules('write-rules', kind, id)
}

function askedWrite(request: FoundRequest<typeof PATH>) {
  return { owner: askedOwner(request), precondition: preconditionOf(request.req.headers) }
}

type OwnerPath = { readonly kind: string; readonly id: string }

function askedOwner({ params, search }: { readonly params: OwnerPath; readonly search: string }): RuleOwner {
  refuseParameters({ search })
  const kind = OWNER_KINDS.find((one) => one === params.kind)
  if (!kind) throw wrongOwner(`the kind of an owner is ${OWNER_KINDS.join(', ')}`)
  if (kind === 'everybody' && params.id !== 'all') throw wrongOwner('rules for everybody are everybody/all')
  if (kind === 'user' && !isUid(params.id)) throw wrongOwner(UID_RULE)
  if (kind === 'session' && !isSessionId(params.id)) throw wrongOwner(SESSION_ID_RULE)
  if ((kind === 'workflow' || kind === 'agent') && !isWorkflowId(params.id))
    throw wrongOwner(`the id of a workflow or an agent ${WORKFLOW_ID_RULE}`)
  return { kind, id: params.id }
}

function wrongOwner(rule: string): ToolrackError {
  return new ToolrackError('RULES_NOT_FOUND', `There is no such owner of rules: ${rule}.`)
}

function shownRules(owner: RuleOwner, { set, digest, updatedAt, updatedBy }: KeptRules) {
  return { owner, digest, updatedAt, updatedBy, ...set }
}

function shownVersion({ version, set, digest, updatedAt, updatedBy }: NumberedRules) {
  const facts = { version, digest, updatedAt, updatedBy }
  return set ? { ...facts, ...set } : { ...facts, isDeleted: true }
}

type NumberedRules = RuleVersion & { readonly version: number }
