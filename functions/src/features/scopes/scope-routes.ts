import {
  isToolName,
  parseScope,
  parseScopeCommand,
  ToolrackError,
  type JsonObject,
  type Scope,
} from '@toolrack/contract'
import { READ_SCOPES, WRITE_SCOPES } from './scope-actions.ts'
import type { Principal } from '../../access/principal.ts'
import { Turns, type Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { isFinder } from '../../catalog/views/select-entries.ts'
import { PINNED_MAX, scopeContent, type ScopeContent } from './kept-scope.ts'
import { leftIn, scopeFilter, unmatchedItems } from './scope-filter.ts'
import type { ScopeOwner } from './kept-scope.ts'
import { scopeNotFound, type WrittenScope } from './stored-scopes.ts'
import { callerGone } from '../../http/caller.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { refuseParameters } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendJson, sendTagged } from '../../http/send-json.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { StoredScopes } from './stored-scopes.ts'
import { SCOPE_OWNER_RULE, scopeFaultAt, scopeOwner } from './asked-scopes.ts'

const PATH = '/scopes/:kind/:id'

/** The most names of tools in the answer to a command, which a person reads. A list has all tools. */
const NAMES_SHOWN_MAX = 1_000

/** What the routes use. Each caller has the stored scopes of their user. */
type Parts = {
  readonly scopes: StoredScopes
  /** The catalog without the tools that rules hide. */
  readonly listed: ListedCatalog
}

export function scopeRoutes({ scopes, listed }: Parts): readonly Route[] {
  /**
   * Finds the items of a scope that match no tool of the user. These items may be misspelled, or be for tools that do not exist
   * yet.
   */
  async function unmatched(principal: Principal, scope: Scope, turns: Turns) {
    return { unmatched: await turns.run(unmatchedIn(await listed.view(principal), scope)) }
  }

  async function toolsIn(principal: Principal, content: ScopeContent, turns: Turns) {
    const entries = await turns.run(entriesIn(await listed.view(principal), content))
    const names = entries.filter((entry) => !isFinder(entry)).map(({ name }) => name)
    return { total: names.length, tools: names.slice(0, NAMES_SHOWN_MAX) }
  }

  return [
    route({
      method: 'GET',
      path: '/scopes',
      schemas: async () => (await import('./scope-schemas.ts')).LIST_SCOPES,
      ask: refuseParameters,
      action: READ_SCOPES,
      async handle({ principal, res }) {
        const found = await scopes.all(principal.uid)
        sendJson(res, 200, { scopes: found.map(({ owner, present }) => ({ owner, ...present })) })
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      schemas: async () => (await import('./scope-schemas.ts')).READ_SCOPE,
      ask: askedOwner,
      action: READ_SCOPES,
      async handle({ principal, asked: owner, res }) {
        const kept = await scopes.find(principal.uid, owner)
        if (!kept) throw scopeNotFound(owner)
        sendTagged(res, kept.present.digest, () => ({ owner, ...kept.present }))
      },
    }),
    // The kept versions of a scope, the newest first.
    route({
      method: 'GET',
      path: `${PATH}/versions`,
      schemas: async () => (await import('./scope-schemas.ts')).LIST_VERSIONS,
      ask: askedOwner,
      action: READ_SCOPES,
      async handle({ principal, asked: owner, res }) {
        const versions = await scopes.versions(principal.uid, owner)
        const [present] = versions
        if (!present) throw scopeNotFound(owner)
        sendTagged(res, present.digest, () => ({ owner, versions }))
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      schemas: async () => (await import('./scope-schemas.ts')).WRITE_SCOPE,
      takesBody: true,
      ask: askedWrite,
      action: WRITE_SCOPES,
      async handle(request) {
        const { principal, asked, res } = request
        const { scope, pinned } = parsedBody(await readObject(request, 'scope'))
        const items = await unmatched(principal, scope, new Turns(callerGone(res)))
        const target = { uid: principal.uid, ...asked }
        const written = await scopes.write(target, () => scopeContent(scope, pinned))
        const { outcome, present } = noted(request, written)
        const answer = { owner: asked.owner, outcome, ...present, ...items }
        sendJson(res, outcome === 'created' ? 201 : 200, answer, { ETag: `"${present.digest}"` })
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      schemas: async () => (await import('./scope-schemas.ts')).DELETE_SCOPE,
      ask: askedWrite,
      action: WRITE_SCOPES,
      async handle({ principal, asked, res, note }) {
        const digest = await scopes.delete({ uid: principal.uid, ...asked })
        note?.({ digest, subject: { outcome: 'deleted' } })
        sendJson(res, 200, { owner: asked.owner, outcome: 'deleted', digest })
      },
    }),
    // Runs a command that a user writes in a room: /tools, /tools on, /tools off, /tools internal, /tools GROUP.
    route({
      method: 'POST',
      path: `${PATH}/commands`,
      schemas: async () => (await import('./scope-schemas.ts')).RUN_COMMAND,
      takesBody: true,
      ask: askedWrite,
      action: WRITE_SCOPES,
      async handle(request) {
        const { principal, asked, res } = request
        const { owner } = asked
        const command = parsedCommand(await readObject(request, 'scope'))
        const turns = new Turns(callerGone(res))
        if (command.does === 'show') {
          const kept = await scopes.find(principal.uid, owner)
          const present = kept?.present ?? scopeContent({ kind: 'all' }, [])
          const items = kept ? await unmatched(principal, kept.scope, turns) : { unmatched: [] }
          const tools = await toolsIn(principal, present, turns)
          request.note?.({ subject: { outcome: 'shown' } })
          return sendJson(res, 200, { owner, outcome: 'shown', ...present, ...items, ...tools })
        }
        const items = await unmatched(principal, command.scope, turns)
        const target = { uid: principal.uid, ...asked }
        const written = await scopes.write(target, (before) =>
          scopeContent(command.scope, before?.pinned ?? []),
        )
        const { outcome, present } = noted(request, written)
        // The scope is already written, so the answer is made even if the caller leaves.
        const tools = await toolsIn(principal, present, new Turns())
        const answer = { owner, outcome, ...present, ...items, ...tools }
        sendJson(res, 200, answer, { ETag: `"${present.digest}"` })
      },
    }),
  ]
}

/** The items of a scope that match no tool of the view. */
export function* unmatchedIn(view: CatalogView, scope: Scope): Pieces<readonly string[]> {
  return yield* unmatchedItems(yield* view.shown(), [scope])
}

/** The tools of the view that are in a list with this stored scope. */
export function* entriesIn(
  view: CatalogView,
  { scope, pinned }: ScopeContent,
): Pieces<readonly CatalogEntry[]> {
  const parsed = parseScope(scope)
  const leavesOut = scopeFilter('fault' in parsed ? [] : [{ from: scope, scope: parsed }], new Set(pinned))
  return yield* leftIn(yield* view.shown(), leavesOut)
}

/** Adds the digests of the new and of the earlier content to the audit record of the request. */
function noted({ note }: Pick<FoundRequest, 'note'>, written: WrittenScope): WrittenScope {
  const { outcome, present, before = null } = written
  note?.({ digest: present.digest, subject: { outcome, before } })
  return written
}

type OwnerPath = { readonly kind: string; readonly id: string }

function askedOwner({ params, search }: { readonly params: OwnerPath; readonly search: string }): ScopeOwner {
  refuseParameters({ search })
  const owner = scopeOwner(params.kind, params.id)
  if (owner) return owner
  throw new ToolrackError('SCOPE_NOT_FOUND', `There is no such owner of a scope: ${SCOPE_OWNER_RULE}.`)
}

function askedWrite(request: Pick<FoundRequest, 'search' | 'req'> & { readonly params: OwnerPath }) {
  return { owner: askedOwner(request), precondition: preconditionOf(request.req.headers) }
}

function parsedBody(body: JsonObject): { readonly scope: Scope; readonly pinned: readonly string[] } {
  const { scope: text, pinned = [], ...rest } = body
  if (Object.keys(rest).length > 0)
    throw bodyInvalid('The body takes scope and pinned, and nothing else: {"scope": "@web,!web_post"}.')
  if (typeof text !== 'string')
    throw bodyInvalid('The body at /scope: it must be a text, such as "@web,!web_post", "all" or "none".')
  const scope = parseScope(text)
  if ('fault' in scope) throw scopeFaultAt('/scope', scope)
  if (!Array.isArray(pinned) || pinned.length > PINNED_MAX || !pinned.every(isName))
    throw bodyInvalid(`The body at /pinned: it must be a list of at most ${PINNED_MAX} names of tools.`)
  return { scope, pinned }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && isToolName(value)
}

function parsedCommand(body: JsonObject) {
  const { text, ...rest } = body
  if (Object.keys(rest).length > 0 || typeof text !== 'string')
    throw bodyInvalid('The body takes text and nothing else: {"text": "/tools off"}.')
  const command = parseScopeCommand(text)
  if ('fault' in command) throw scopeFaultAt('/text', command)
  return command
}
