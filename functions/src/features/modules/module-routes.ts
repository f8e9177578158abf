import { ToolrackError } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import { allOf, GOVERN, onLayer, type Action } from '../../access/action.ts'
import { isDigest } from '../../access/job-token.ts'
import type { WritableLayer } from '../../catalog/definitions/definition-writer.ts'
import { contentSha256 } from '../../catalog/definitions/module-content.ts'
import { moduleTag } from '../../catalog/definitions/module-tag.ts'
import { isModuleName } from '../../catalog/definitions/module-reader.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson, sendTagged } from '../../http/send-json.ts'
import {
  askedLayer,
  askedWrite,
  nextPage,
  pageQuery,
  targetOf,
  versionChoice,
  write,
  writtenLayer,
} from '../definitions/layer-requests.ts'
import { answerUpload, refuseBuffered } from './answer-upload.ts'
import { readModule } from './module-body.ts'
import type { ModuleReader } from '../../catalog/definitions/module-reader.ts'
import type { ModuleWriter } from '../../catalog/definitions/module-writer.ts'

/** What the routes use. A module that the caller may not read is hidden, as if it did not exist. */
type Parts = {
  readonly modules: { readonly reader: ModuleReader; readonly writer: ModuleWriter }
  /** True for a request that came through a proxy that passes on an answer only when it is whole. */
  readonly isBehindBuffer?: ((request: IncomingMessage) => boolean) | undefined
}

export function moduleRoutes({
  modules: { reader, writer },
  isBehindBuffer = () => false,
}: Parts): readonly Route[] {
  return [
    // One page of a layer's modules, in the order of their names, without their sources and reports.
    route({
      method: 'GET',
      path: '/tools/modules',
      schemas: async () => (await import('./module-schemas.ts')).LIST_MODULES,
      ask: askedPage,
      action: readModules,
      hide: ({ asked: { layer }, res }) => sendJson(res, 200, { layer, items: [] }),
      async handle({ principal, asked: { layer, limit, after }, path, res }) {
        // One module more than the page is read, because it shows whether there is another page.
        const found = await reader.modules(principal, layer, { after, limit: limit + 1 })
        const items = found.slice(0, limit)
        const cursor = found.length > limit ? items.at(-1)?.name : undefined
        sendJson(res, 200, { layer, items }, nextPage(path, layer, limit, cursor))
      },
    }),
    // A module with its source or files, and the report of its check. Its entity tag is `moduleTag`.
    route({
      method: 'GET',
      path: '/tools/modules/:name',
      schemas: async () => (await import('./module-schemas.ts')).READ_MODULE,
      ask: askedLayer,
      action: readModules,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const module = await reader.module(principal, layer, name)
        sendTagged(res, moduleTag(module), () => ({ ...module, layer }))
      },
    }),
    // Checks a Python file, or the files of a module, and makes definitions of its tools.
    route({
      method: 'PUT',
      path: '/tools/modules/:name',
      schemas: async () => (await import('./module-schemas.ts')).WRITE_MODULE,
      takesBody: true,
      ask: askedUpload,
      action: writeAndAccept,
      audit: { layer: 'query' },
      async handle(request) {
        const { principal } = request
        const isBuffered = isBehindBuffer(request.req)
        refuseBuffered(request, isBuffered)
        const content = await readModule(request, request.params.name)
        // The content is noted before the write, so that the record of a refused upload names it too.
        request.note?.({ digest: digestOf(contentSha256(content)) })
        await answerUpload(request, isBuffered, async (onProgress) => {
          const upload = { ...uploadOf(request), onProgress, ...content }
          const { tag, answer } = await writer.put(principal, upload)
          noteWrite(request, answer)
          noteGrants(request, answer)
          const headers = { ETag: `"${tag}"` }
          return { status: answer.outcome === 'created' ? 201 : 200, body: answer, headers }
        })
      },
    }),
    // Removes a module and all of its tools. Its versions are kept, and a rollback can restore one of them.
    route({
      method: 'DELETE',
      path: '/tools/modules/:name',
      schemas: async () => (await import('./module-schemas.ts')).DELETE_MODULE,
      ask: askedWrite,
      action: write,
      audit: { layer: 'query' },
      async handle(request) {
        const { principal, asked, params, res } = request
        const { layer, precondition } = asked
        const answer = await writer.delete(principal, layer, params.name, precondition)
        noteWrite(request, answer)
        sendJson(res, 200, answer)
      },
    }),
    // The versions of a module, the newest first. A deletion is a version without content.
    route({
      method: 'GET',
      path: '/tools/modules/:name/versions',
      schemas: async () => (await import('./module-schemas.ts')).LIST_VERSIONS,
      ask: askedLayer,
      action: readModules,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const versions = await reader.versions(principal, layer, name)
        const items = versions.map(({ sha256, ...version }) => ({
          ...version,
          deleted: sha256 === undefined,
          sha256,
        }))
        sendJson(res, 200, { name, layer, items })
      },
    }),
    // Checks older content again and makes it the present one, also after a deletion.
    route({
      method: 'POST',
      path: '/tools/modules/:name/rollback',
      schemas: async () => (await import('./module-schemas.ts')).ROLL_BACK,
      takesBody: true,
      ask: askedUpload,
      action: writeAndAccept,
      audit: { layer: 'query' },
      async handle(request) {
        const choice = versionChoice(await readObject(request, 'version'), 'sha256', '…')
        const { tag, answer } = await writer.rollback(request.principal, { ...uploadOf(request), choice })
        noteWrite(request, answer)
        noteGrants(request, answer)
        sendJson(request.res, 200, answer, { ETag: `"${tag}"` })
      },
    }),
  ]
}

type Written = Awaited<ReturnType<ModuleWriter['put']>>['answer']

/** Adds the grants of the module, and whether its tools wait for consent, to the audit record of the request. */
function noteGrants({ note }: FoundRequest, { grants, grantsDigest, pending }: Written): void {
  if (grants.length === 0) return
  note?.({ subject: { grants: grants.map(({ kind, value }) => `${kind} ${value}`), grantsDigest, pending } })
}

/** Adds the module, its tools that have changed, and the new revision of its layer to the audit record of the request. */
function noteWrite(
  { note }: FoundRequest,
  { outcome, sha256, environment, revision, tools }: Omit<Written, 'grants' | 'grantsDigest' | 'pending'>,
): void {
  const { added, changed, removed } = tools
  const subject = { outcome, added, changed, removed, ...(environment && { environment }) }
  note?.({ digest: digestOf(sha256), revision, subject })
}

function digestOf(sha256: string): string {
  return `sha256:${sha256}`
}

function readModules({ layer }: { readonly layer: WritableLayer }): Action {
  return onLayer('read-modules', layer)
}

function notFound(): never {
  throw new ToolrackError('MODULE_NOT_FOUND')
}

/**
 * Reads a write that checks a module. With `relock=1`, its packages are resolved anew. With `acceptGrants`, its sender accepts
 * the grants with this digest.
 */
function askedUpload({ search, req, note }: FoundRequest) {
  const query = new Query(search, ['layer', 'relock', 'acceptGrants'])
  const acceptGrants = query.one('acceptGrants')
  if (acceptGrants !== undefined && !isDigest(acceptGrants))
    throw invalidParameter('acceptGrants', 'must be a digest: sha256: and 64 hexadecimal digits')
  // It is noted before the access is checked, so that the record of a refused upload names it too.
  if (acceptGrants !== undefined) note?.({ subject: { acceptGrants } })
  const precondition = preconditionOf(req.headers)
  return { precondition, layer: writtenLayer(query), relock: query.flag('relock'), acceptGrants }
}

/** To accept grants with an upload, its sender must be allowed to do both. */
function writeAndAccept(asked: ReturnType<typeof askedUpload>): Action {
  return asked.acceptGrants === undefined ? write(asked) : allOf(write(asked), GOVERN)
}

function uploadOf(request: KnownRequest<'/:name', ReturnType<typeof askedUpload>>) {
  const { relock, acceptGrants } = request.asked
  return { ...targetOf(request), relock, acceptGrants }
}

function askedPage(request: FoundRequest) {
  const { layer, limit, cursor: after } = pageQuery(request, writtenLayer)
  if (after !== undefined && !isModuleName(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  return { layer, limit, after }
}
