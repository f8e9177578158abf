import { ToolrackError } from '@toolrack/contract'
import type { Action } from '../../access/principal.ts'
import type { WritableLayer } from '../../tools/definitions/definition-writer.ts'
import { isModuleName } from '../../tools/modules/module-reader.ts'
import { invalidParameter } from '../http/query.ts'
import { BODY_BYTES_MAX, bodyInvalid, readBytes, readObject, type Sent } from '../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../http/route.ts'
import { sendJson, sendTagged } from '../http/send-json.ts'
import {
  askedLayer,
  askedWrite,
  nextPage,
  pageQuery,
  targetOf,
  versionChoice,
  write,
  writtenLayer,
} from './layer-requests.ts'
import type { RouteParts } from './route-parts.ts'

/** Modules that a caller may not read are hidden, as if there were none. */
export function moduleRoutes({ modules: { reader, writer } }: RouteParts): readonly Route[] {
  return [
    // One page of a layer's modules, in the order of their names, without their sources and reports.
    route({
      method: 'GET',
      path: '/tools/modules',
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
    // A module with its source and the report of its check. Its entity tag is the sha256 of the source.
    route({
      method: 'GET',
      path: '/tools/modules/:name',
      ask: askedLayer,
      action: readModules,
      hide: notFound,
      async handle({ principal, asked: { layer }, params: { name }, res }) {
        const module = await reader.module(principal, layer, name)
        sendTagged(res, module.sha256, () => ({ ...module, layer }))
      },
    }),
    // Checks a Python file, and makes its tools the module's definitions.
    route({
      method: 'PUT',
      path: '/tools/modules/:name',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle(request) {
        const { principal, res } = request
        const source = await moduleSource(request)
        const answer = await writer.put(principal, { ...targetOf(request), source })
        sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.sha256}"` })
      },
    }),
    // Removes a module and all of its tools. Its versions are kept, and a rollback can restore one of them.
    route({
      method: 'DELETE',
      path: '/tools/modules/:name',
      ask: askedWrite,
      action: write,
      async handle({ principal, asked: { layer, precondition }, params: { name }, res }) {
        sendJson(res, 200, await writer.delete(principal, layer, name, precondition))
      },
    }),
    // The versions of a module, the newest first. A deletion is a version without content.
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
          sha256,
        }))
        sendJson(res, 200, { name, layer, items })
      },
    }),
    // Checks an older source again and makes it the present one, also after a deletion.
    route({
      method: 'POST',
      path: '/tools/modules/:name/rollback',
      takesBody: true,
      ask: askedWrite,
      action: write,
      async handle(request) {
        const choice = versionChoice(await readObject(request, 'single'), 'sha256', '…')
        const answer = await writer.rollback(request.principal, { ...targetOf(request), choice })
        sendJson(request.res, 200, answer, { ETag: `"${answer.sha256}"` })
      },
    }),
  ]
}

function readModules({ layer }: { readonly layer: WritableLayer }): Action {
  return { verb: 'read-modules', layer }
}

function notFound(): never {
  throw new ToolrackError('MODULE_NOT_FOUND')
}

function askedPage(request: FoundRequest) {
  const { layer, limit, cursor: after } = pageQuery(request, writtenLayer)
  if (after !== undefined && !isModuleName(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  return { layer, limit, after }
}

/** The content types with which clients send files. `curl --data-binary` sends the type of a form. */
const PYTHON = /^(?:text\/[a-z.+-]+|application\/(?:octet-stream|x-python(?:-code)?|x-www-form-urlencoded))$/

/** The Python source in a body: the body itself, or `source` in a JSON body. */
async function moduleSource(sent: Sent): Promise<Uint8Array> {
  const [head = ''] = (sent.req.headers['content-type'] ?? '').toLowerCase().split(';', 1)
  const type = head.trim()
  if (type === 'application/json') return sourceInJson(sent)
  if (type === '' || PYTHON.test(type)) return readBytes(sent, 'single')
  const types = 'text/x-python, application/octet-stream or application/json'
  const remedy = 'or be left out: send the file itself, as curl -T does.'
  throw new ToolrackError('HEADER_INVALID', `The Content-Type must be ${types}, ${remedy}`)
}

/** JSON may take more bytes than the source in it, so a bulk body is allowed. */
async function sourceInJson(sent: Sent): Promise<Uint8Array> {
  const { source, ...rest } = await readObject(sent, 'bulk')
  if (typeof source !== 'string' || Object.keys(rest).length > 0)
    throw bodyInvalid('The body must be {"source": "…"}, or the Python source itself.')
  const bytes = Buffer.from(source)
  if (bytes.length > BODY_BYTES_MAX.single) throw new ToolrackError('BODY_TOO_LARGE')
  return bytes
}
