import { LAYERS, ToolrackError, type Digest, type JsonObject, type Layer } from '@toolrack/contract'
import { isDigest } from '../../access/job-token.ts'
import { onLayer } from '../../access/action.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import { modulesWithGrants } from '../../catalog/views/module-grants.ts'
import { callerGone } from '../../http/caller.ts'
import { Query } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendInTurns, sendJson } from '../../http/send-json.ts'
import { Turns } from '../../loop-turn.ts'
import { decideGrants, LIST_GRANTS, readGrants } from './grant-actions.ts'
import { stateOf, type GrantsAnswer, type ModuleConsents } from './module-consents.ts'

type Parts = { readonly catalog: Catalog; readonly consents: ModuleConsents }

const ACCEPTED = { what: 'A body with a digest', size: 'single', wayOut: 'Send the digest alone.' } as const

export const GRANT_STATES = ['pending', 'accepted'] as const

export function grantRoutes({ catalog, consents }: Parts): readonly Route[] {
  return [
    // The modules whose tools ask for grants, of the caller's own layer. An admin gets those of the other layers too.
    route({
      method: 'GET',
      path: '/tools/grants',
      schemas: async () => (await import('./grant-schemas.ts')).LIST_GRANTS,
      ask: askedState,
      action: LIST_GRANTS,
      inFull: onLayer('read-modules', 'global'),
      async handle({ principal, asked: state, inFull, res }) {
        const view = await catalog.view({ uid: principal.uid })
        const layers: readonly Layer[] = inFull ? LAYERS : ['user']
        const found = await new Turns(callerGone(res)).run(modulesWithGrants(view, layers))
        const items = found
          .map(({ isPending, ...module }) => ({ ...module, state: stateOf({ isPending }) }))
          .filter((module) => state === undefined || module.state === state)
        await sendInTurns(res, { items }, {})
      },
    }),
    route({
      method: 'GET',
      path: '/tools/modules/:name/grants',
      schemas: async () => (await import('./grant-schemas.ts')).READ_GRANTS,
      ask: askedLayer,
      action: readGrants,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        sendJson(res, 200, await consents.read(principal, { layer, name }))
      },
    }),
    // Accepts the grants with exactly this digest. The tools of the module can then be listed and called.
    route({
      method: 'POST',
      path: '/tools/modules/:name/grants',
      schemas: async () => (await import('./grant-schemas.ts')).ACCEPT_GRANTS,
      takesBody: true,
      ask: askedDecision,
      action: decideGrants,
      audit: { layer: 'query' },
      async handle(request) {
        const { principal, asked, params, res } = request
        const module = { ...asked, ...params }
        const digest = digestIn(await readObject(request, ACCEPTED))
        noteGrants(request, await consents.read(principal, module), digest)
        const answer = await consents.accept(principal, module, digest)
        noteGrants(request, answer, digest)
        sendJson(res, 200, answer)
      },
    }),
    // Revokes the consent. The tools of the module wait again.
    route({
      method: 'DELETE',
      path: '/tools/modules/:name/grants',
      schemas: async () => (await import('./grant-schemas.ts')).REVOKE_GRANTS,
      ask: askedDecision,
      action: decideGrants,
      audit: { layer: 'query' },
      async handle(request) {
        const { principal, asked, params, res } = request
        const answer = await consents.revoke(principal, { ...asked, ...params })
        noteGrants(request, answer)
        sendJson(res, 200, answer)
      },
    }),
  ]
}

function askedState({ search }: FoundRequest): (typeof GRANT_STATES)[number] | undefined {
  const query = new Query(search, ['state'])
  return query.optional('state', GRANT_STATES)
}

function askedLayer({ search }: FoundRequest): { readonly layer: Layer } {
  return { layer: new Query(search, ['layer']).choice('layer', LAYERS, 'user') }
}

/** The module is noted before the access is checked, so that the record of a refused decision names it too. */
function askedDecision(request: FoundRequest<'/tools/modules/:name/grants'>): { readonly layer: Layer } {
  const asked = askedLayer(request)
  request.note?.({ layer: asked.layer, subject: { module: request.params.name.slice(0, 256) } })
  return asked
}

function digestIn({ digest, ...rest }: JsonObject): Digest {
  if (isDigest(digest) && Object.keys(rest).length === 0) return digest
  throw bodyInvalid(
    'The body takes digest and nothing else: {"digest": "sha256:…"}, as GET …/grants shows it in grantsDigest.',
  )
}

/** Adds the grants, and the digest that was accepted, to the audit record of the request. */
function noteGrants(
  { note }: Pick<FoundRequest, 'note'>,
  { module, layer, grants, grantsDigest, state }: GrantsAnswer,
  accepted: Digest = grantsDigest,
): void {
  const texts = grants.map(({ kind, value }) => `${kind} ${value}`)
  note?.({ layer, digest: accepted, subject: { module, grants: texts, grantsDigest, state } })
}

function notFound(): never {
  throw new ToolrackError('MODULE_NOT_FOUND')
}
