import type { JsonValue, Layer } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import { readCursor, writeCursor } from '../../tools/catalog/cursor.ts'
import type { Position } from '../../tools/catalog/cursor.ts'
import { PAGE_MAX } from '../../tools/catalog/list-query.ts'
import { ON_CONFLICT } from '../../tools/definitions/definition-change.ts'
import type { DefinitionStore } from '../../tools/definitions/definition-store.ts'
import { storedLayer } from '../../tools/definitions/definition-writer.ts'
import type { DefinitionWriter } from '../../tools/definitions/definition-writer.ts'
import { keptVersions } from '../../tools/definitions/kept-versions.ts'
import { JsonText } from '../../tools/json/json-text.ts'
import { callerGone } from '../http/caller.ts'
import { isNotModified } from '../http/entity-tag.ts'
import { invalidParameter, Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import { route } from '../http/route.ts'
import type { FoundRequest, Route } from '../http/route.ts'
import { sendInTurns, sendJson } from '../http/send-json.ts'
import { askedLayer, askedWrite, readLayer, snapshotOf, write, writtenLayer } from './layer-parameter.ts'
import { objectBody } from './object-body.ts'
import { sentDefinitions } from './sent-definitions.ts'
import { shownDefinition, shownMeta } from './shown-definition.ts'
import { versionChoice } from './version-choice.ts'

export type DefinitionParts = {
  readonly catalog: Catalog
  readonly store: DefinitionStore
  readonly writer: DefinitionWriter
}

/** Definitions of one layer, read and written as their authors write them. */
export function definitionRoutes({ catalog, store, writer }: DefinitionParts): readonly Route[] {
  return [
    // The definitions of a layer, by name, a page at a time.
    route({
      method: 'GET',
      path: '/tools/defs',
      ask: askedPage,
      action: { verb: 'read' },
      async handle({ principal, asked: { layer, limit, after }, path, res }) {
        const { sorted, revision } = snapshotOf(await catalog.view(principal), layer)
        const rest = after ? sorted.filter((entry) => entry.name > after.name) : sorted
        const page = rest.slice(0, limit)
        const last = page.at(-1)
        const hasMore = rest.length > page.length && last !== undefined
        const next = hasMore
          ? `<${path}?layer=${layer}&limit=${limit}&cursor=${writeCursor(last)}>; rel="next"`
          : undefined
        // The stored text as it is: to parse and write those of a large layer took 300 ms.
        const items = page.map((entry) => ({
          ...shownMeta(entry),
          definition: new JsonText(entry.stored.text),
        }))
        await sendInTurns(res, { layer, revision, items }, next ? { Link: next } : {})
      },
    }),
    // Writes one or up to 200 definitions, all of them or none.
    route({
      method: 'POST',
      path: '/tools/defs',
      takesBody: true,
      ask: askedBulk,
      action: write,
      async handle({ principal, asked: { layer, onConflict, onInvalid }, req, res, bodies }) {
        const sent = sentDefinitions(await readBody({ req, res, bodies, principal }, 'bulk'))
        const options = { onConflict, onInvalid, signal: callerGone(res) }
        sendJson(res, 200, await writer.putAll(principal, layer, sent, options))
      },
    }),
    // One definition. Its entity tag is its digest.
    route({
      method: 'GET',
      path: '/tools/defs/:name',
      ask: ({ search }) => readLayer(new Query(search, ['layer'])),
      action: { verb: 'read' },
      async handle({ principal, asked: layer, params: { name }, req, res }) {
        const view = await catalog.view(principal)
        const entry = snapshotOf(view, layer).byName.get(name)
        if (!entry) throw new ToolrackError('TOOL_NOT_FOUND')
        const etag = `"${entry.digest}"`
        if (isNotModified(req.headers['if-none-match'], etag))
          res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
        else sendJson(res, 200, shownDefinition(entry), { ETag: etag })
      },
    }),
    // Creates a definition or replaces it.
    route({
      method: 'PUT',
      path: '/tools/defs/:name',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, req, res, bodies }) {
        const sent = objectBody(await readBody({ req, res, bodies, principal }, 'single'))
        const answer = await writer.put(principal, layer, name, sent, precondition, callerGone(res))
        sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.digest}"` })
      },
    }),
    // Removes a definition; its versions stay and can be rolled back to.
    route({
      method: 'DELETE',
      path: '/tools/defs/:name',
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, res }) {
        sendJson(res, 200, { ...(await writer.delete(principal, layer, name, precondition)), layer })
      },
    }),
    // What a definition was, the newest first; a deletion is a version without content.
    route({
      method: 'GET',
      path: '/tools/defs/:name/versions',
      ask: askedLayer,
      action: { verb: 'read-versions' },
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const versions = await keptVersions(store, storedLayer(layer, principal.uid), name)
        const items = versions.map(({ revision, digest, text, at, by }) => ({
          revision,
          at,
          by,
          deleted: text === undefined,
          ...(digest !== undefined && { digest }),
          ...(text !== undefined && { definition: JSON.parse(text) as JsonValue }),
        }))
        sendJson(res, 200, { name, layer, items })
      },
    }),
    // Makes an older version the present one, also after a deletion.
    route({
      method: 'POST',
      path: '/tools/defs/:name/rollback',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, req, res, bodies }) {
        const choice = versionChoice(
          objectBody(await readBody({ req, res, bodies, principal }, 'single')),
          'digest',
          'sha256:…',
        )
        const answer = await writer.rollback(principal, layer, name, choice, precondition, callerGone(res))
        sendJson(res, 200, answer, { ETag: `"${answer.digest}"` })
      },
    }),
  ]
}

function askedPage({ search }: FoundRequest): {
  readonly layer: Layer
  readonly limit: number
  readonly after: Position | undefined
} {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = readLayer(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  const cursor = query.one('cursor')
  const after = cursor === undefined ? undefined : readCursor(cursor)
  if (cursor !== undefined && after?.layer !== layer)
    throw invalidParameter(
      'cursor',
      'is not one that this service gave for this layer; take it from the Link header',
    )
  return { layer, limit, after }
}

function askedBulk({ search, req }: FoundRequest) {
  const query = new Query(search, ['layer', 'onConflict', 'onInvalid'])
  const layer = writtenLayer(query)
  const onConflict = query.choice('onConflict', ON_CONFLICT, 'upsert')
  const onInvalid = query.choice('onInvalid', ['fail', 'skip'], 'fail')
  if (req.headers['if-match'] !== undefined || req.headers['if-none-match'] !== undefined)
    throw new ToolrackError(
      'HEADER_INVALID',
      'If-Match and If-None-Match are for one definition; write it with PUT.',
    )
  return { layer, onConflict, onInvalid }
}
