import { ToolrackError } from '@toolrack/contract'
import { PAGE_MAX } from '../../tools/catalog/list-query.ts'
import { callerGone } from '../http/caller-gone.ts'
import { isNotModified } from '../http/entity-tag.ts'
import { invalidParameter, Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import { route } from '../http/route.ts'
import type { FoundRequest, Route } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { isModuleName } from '../../tools/modules/module-reader.ts'
import type { ModuleReader } from '../../tools/modules/module-reader.ts'
import type { ModuleWriter } from '../../tools/modules/module-writer.ts'
import { askedLayer, askedWrite, readModules, write, writtenLayer } from './layer-parameter.ts'
import { moduleSource } from './module-source.ts'
import { objectBody } from './object-body.ts'
import { versionChoice } from './version-choice.ts'

export type ModuleParts = {
  readonly modules: { readonly reader: ModuleReader; readonly writer: ModuleWriter }
}

/** The Python modules of one layer. To whom they may not be shown, there are none. */
export function moduleRoutes({ modules: { reader, writer } }: ModuleParts): readonly Route[] {
  return [
    // The modules of a layer by name, without their sources and reports, a page at a time.
    route({
      method: 'GET',
      path: '/tools/modules',
      ask: askedPage,
      action: readModules,
      hide: ({ asked: { layer }, res }) => sendJson(res, 200, { layer, items: [] }),
      async handle({ principal, asked: { layer, limit, after }, path, res }) {
        // One more than is shown tells whether there is another page.
        const found = await reader.modules(principal, layer, { after, limit: limit + 1 })
        const items = found.slice(0, limit)
        const last = items.at(-1)
        const next = `<${path}?layer=${layer}&limit=${limit}&cursor=${last?.name}>; rel="next"`
        sendJson(res, 200, { layer, items }, found.length > limit ? { Link: next } : {})
      },
    }),
    // A module with its source and what came of it. Its entity tag is the sha256 of the source.
    route({
      method: 'GET',
      path: '/tools/modules/:name',
      ask: askedLayer,
      action: readModules,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, req, res }) {
        const module = await reader.module(principal, layer, name)
        const etag = `"${module.sha256}"`
        if (isNotModified(req.headers['if-none-match'], etag))
          res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
        else sendJson(res, 200, { ...module, layer }, { ETag: etag })
      },
    }),
    // Checks a Python file, and makes its tools the module's definitions.
    route({
      method: 'PUT',
      path: '/tools/modules/:name',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, req, res, bodies }) {
        const source = await moduleSource({ req, res, bodies, principal })
        const upload = { layer, name, source, precondition, signal: callerGone(res) }
        const answer = await writer.put(principal, upload)
        sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.sha256}"` })
      },
    }),
    // Removes a module and all of its tools; its versions stay and can be rolled back to.
    route({
      method: 'DELETE',
      path: '/tools/modules/:name',
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, res }) {
        sendJson(res, 200, await writer.delete(principal, layer, name, precondition))
      },
    }),
    // What a module was, the newest first; a deletion is a version without content.
    route({
      method: 'GET',
      path: '/tools/modules/:name/versions',
      ask: askedLayer,
      action: readModules,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const versions = await reader.versions(principal, layer, name)
        const items = versions.map(({ sha256, ...version }) => ({
          ...version,
          deleted: sha256 === undefined,
          ...(sha256 !== undefined && { sha256 }),
        }))
        sendJson(res, 200, { name, layer, items })
      },
    }),
    // Checks an older source once more and makes it the present one, also after a deletion.
    route({
      method: 'POST',
      path: '/tools/modules/:name/rollback',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, req, res, bodies }) {
        const choice = versionChoice(
          objectBody(await readBody({ req, res, bodies, principal }, 'single')),
          'sha256',
          '…',
        )
        const rollback = { layer, name, choice, precondition, signal: callerGone(res) }
        const answer = await writer.rollback(principal, rollback)
        sendJson(res, 200, answer, { ETag: `"${answer.sha256}"` })
      },
    }),
  ]
}

function notFound(): never {
  throw new ToolrackError('MODULE_NOT_FOUND')
}

function askedPage({ search }: FoundRequest) {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = writtenLayer(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  const after = query.one('cursor')
  if (after !== undefined && !isModuleName(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  return { layer, limit, after }
}
