import { isJsonObject, ToolrackError, type JsonObject, type JsonValue, type Layer } from '@toolrack/contract'
import { READ } from '../../access/action.ts'
import { READ_VERSIONS } from './definition-actions.ts'
import { readCursor, writeCursor } from '../../catalog/views/list-query.ts'
import { ON_CONFLICT } from '../../catalog/definitions/definition-change.ts'
import { BULK_MAX, keptVersions, storedLayer } from '../../catalog/definitions/definition-writer.ts'
import { withoutPending } from '../../catalog/definitions/pending-text.ts'
import { JsonText } from '../../json/json-text.ts'
import { callerGone } from '../../http/caller.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { bodyInvalid, readBody, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendInTurns, sendJson, sendTagged } from '../../http/send-json.ts'
import {
  askedLayer,
  askedWrite,
  nextPage,
  pageQuery,
  readLayer,
  targetOf,
  versionChoice,
  write,
  writtenLayer,
} from './layer-requests.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { LayerSnapshot } from '../../catalog/views/layer-snapshot.ts'
import { withFamily } from '../../catalog/definitions/loose-shape.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import type { DefinitionWriter } from '../../catalog/definitions/definition-writer.ts'

type Parts = {
  readonly catalog: Catalog
  readonly store: DefinitionStore
  readonly writer: DefinitionWriter
}

export function definitionRoutes({ catalog, store, writer }: Parts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/tools/defs',
      schemas: async () => (await import('./definition-schemas.ts')).LIST_DEFINITIONS,
      ask: askedPage,
      action: READ,
      async handle({ principal, asked: { layer, limit, after }, path, res }) {
        const { sorted, revision } = snapshotOf(await catalog.view(principal), layer)
        const rest = after ? sorted.filter((entry) => entry.name > after.name) : sorted
        const page = rest.slice(0, limit)
        const last = page.at(-1)
        const items = page.map(shownDefinition)
        const cursor = last && rest.length > limit ? writeCursor(last) : undefined
        await sendInTurns(res, { layer, revision, items }, nextPage(path, layer, limit, cursor))
      },
    }),
    // Writes one or up to 200 definitions, all of them or none.
    route({
      method: 'POST',
      path: '/tools/defs',
      schemas: async () => (await import('./definition-schemas.ts')).WRITE_DEFINITIONS,
      takesBody: true,
      ask: askedBulk,
      action: write,
      audit: { names: 'tool', layer: 'query' },
      async handle(request) {
        const { principal, asked, res } = request
        const sent = sentDefinitions(await readBody(request, 'definitions'))
        const { layer, ...options } = { ...asked, signal: callerGone(res) }
        const answer = await writer.putAll(principal, layer, sent, options)
        const written = answer.results.filter(({ outcome }) => outcome !== 'unchanged')
        const revision = answer.results.at(-1)?.revision ?? null
        request.note?.({
          revision,
          subject: { written: written.map(({ name, digest }) => `${name}@${digest}`) },
        })
        sendJson(res, 200, answer)
      },
    }),
    // One definition. Its entity tag is its digest.
    route({
      method: 'GET',
      path: '/tools/defs/:name',
      schemas: async () => (await import('./definition-schemas.ts')).READ_DEFINITION,
      ask: ({ search }) => readLayer(new Query(search, ['layer'])),
      action: READ,
      async handle({ principal, asked: layer, params: { name }, res }) {
        const entry = snapshotOf(await catalog.view(principal), layer).byName.get(name)
        if (!entry) throw new ToolrackError('TOOL_NOT_FOUND')
        sendTagged(res, entry.digest, () => shownDefinition(entry))
      },
    }),
    route({
      method: 'PUT',
      path: '/tools/defs/:name',
      schemas: async () => (await import('./definition-schemas.ts')).WRITE_DEFINITION,
      takesBody: true,
      ask: askedWrite,
      action: write,
      audit: { names: 'tool', layer: 'query' },
      async handle(request) {
        const { principal, res } = request
        const sent = await readObject(request, 'definition')
        const answer = await writer.put(principal, targetOf(request), sent)
        noteWrite(request, answer)
        sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.digest}"` })
      },
    }),
    // Removes a definition. Its versions are kept, and a rollback can restore one of them.
    route({
      method: 'DELETE',
      path: '/tools/defs/:name',
      schemas: async () => (await import('./definition-schemas.ts')).DELETE_DEFINITION,
      ask: askedWrite,
      action: write,
      audit: { names: 'tool', layer: 'query' },
      async handle(request) {
        const { principal, asked, params, res } = request
        const { layer, precondition } = asked
        const answer = await writer.delete(principal, { layer, name: params.name, precondition })
        noteWrite(request, answer)
        sendJson(res, 200, { ...answer, layer })
      },
    }),
    // The versions of a definition, the newest first. A deletion is a version without content.
    route({
      method: 'GET',
      path: '/tools/defs/:name/versions',
      schemas: async () => (await import('./definition-schemas.ts')).LIST_VERSIONS,
      ask: askedLayer,
      action: READ_VERSIONS,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const versions = await keptVersions(store, storedLayer(layer, principal.uid), name)
        const items = versions.map(({ revision, digest, text, at, by }) => {
          const definition = text === undefined ? undefined : new JsonText(withoutPending(text))
          return { revision, at, by, deleted: text === undefined, digest, definition }
        })
        sendJson(res, 200, { name, layer, items })
      },
    }),
    // Makes an older version the present one, also after a deletion.
    route({
      method: 'POST',
      path: '/tools/defs/:name/rollback',
      schemas: async () => (await import('./definition-schemas.ts')).ROLL_BACK,
      takesBody: true,
      ask: askedWrite,
      action: write,
      audit: { names: 'tool', layer: 'query' },
      async handle(request) {
        const choice = versionChoice(await readObject(request, 'version'), 'digest', 'sha256:…')
        const answer = await writer.rollback(request.principal, targetOf(request), choice)
        noteWrite(request, answer)
        sendJson(request.res, 200, answer, { ETag: `"${answer.digest}"` })
      },
    }),
  ]
}

type Written = { readonly outcome: string; readonly digest: string; readonly revision: string }

/** Adds facts about the written definition, and the new revision of its layer, to the audit record of the request. */
function noteWrite({ note }: FoundRequest, { outcome, digest, revision }: Written): void {
  note?.({ digest, revision, subject: { outcome } })
}

function askedPage(request: FoundRequest) {
  const { layer, limit, cursor } = pageQuery(request, readLayer)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  if (cursor === undefined || after?.layer === layer) return { layer, limit, after }
  const fault = 'is not one that this service gave for this layer; take it from the Link header'
  throw invalidParameter('cursor', fault)
}

function askedBulk({ search, req }: FoundRequest) {
  const query = new Query(search, ['layer', 'onConflict', 'onInvalid'])
  const layer = writtenLayer(query)
  const onConflict = query.choice('onConflict', ON_CONFLICT, 'upsert')
  const onInvalid = query.choice('onInvalid', ['fail', 'skip'], 'fail')
  if (req.headers['if-match'] === undefined && req.headers['if-none-match'] === undefined)
    return { layer, onConflict, onInvalid }
  const fault = 'If-Match and If-None-Match are for one definition; write it with PUT.'
  throw new ToolrackError('HEADER_INVALID', fault)
}

/** The last good snapshot of a layer. Throws LAYER_UNAVAILABLE if the layer was never read. */
function snapshotOf(view: CatalogView, layer: Layer): LayerSnapshot {
  const { snapshot } = view.layers[layer]
  if (snapshot) return snapshot
  throw new ToolrackError('LAYER_UNAVAILABLE', `The ${layer} layer could not be read; try again.`)
}

/**
 * A definition, as it is answered. Its stored text is sent unchanged: to parse the texts of a large layer and write them again
 * took 300 ms.
 */
function shownDefinition({ name, layer, digest, stored }: CatalogEntry) {
  const { revision, updatedAt, updatedBy, source, text } = stored
  const definition = new JsonText(withoutPending(text))
  return { name, layer, digest, revision, updatedAt, updatedBy, source, definition }
}

/** The definitions in a body: one definition, an array of them, or a definitions file, `{"family": …, "tools": [ … ]}`. */
function sentDefinitions(body: JsonValue): readonly JsonValue[] {
  const definitions = isJsonObject(body) ? (fileTools(body) ?? [body]) : body
  if (!isArray(definitions))
    throw bodyInvalid('The body must be a definition, an array of them, or {"tools": [ … ]}.')
  const { length } = definitions
  if (length >= 1 && length <= BULK_MAX) return definitions
  throw bodyInvalid(`The body holds ${length} definitions; send 1 to ${BULK_MAX} at a time.`)
}

/** The tools of a definitions file. Undefined for another body. */
function fileTools(body: JsonObject): readonly JsonValue[] | undefined {
  const { tools, family, $schema: _schema, ...rest } = body
  if (tools === undefined || !isArray(tools)) return undefined
  if (Object.keys(rest).length > 0)
    throw bodyInvalid('Besides tools, only family and $schema are known in the body.')
  return typeof family === 'string' ? tools.map((tool) => withFamily(tool, family)) : tools
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
