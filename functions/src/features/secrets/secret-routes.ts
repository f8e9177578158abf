import { isDigest } from '../../access/job-token.ts'
import { isModuleName } from '../../catalog/definitions/module-reader.ts'
import { nextPage } from '../../http/next-page.ts'
import { invalidParameter, Query, refuseParameters } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import type { DeclaredBody } from '../../http/body-kinds.ts'
import { route, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { ToolrackError } from '@toolrack/contract'
import type { Rotation } from './rotate-secrets.ts'
import { isSecretName, ownerOf, SECRET_LAYERS, secretNotFound, SECRETS_MAX, valueFault } from './secret.ts'
import type { SecretLayer } from './secret.ts'
import { governSecrets, readSecrets } from './secret-actions.ts'
import { CONSENT_LAYERS, type ConsentModule, type SecretStore } from './secret-store.ts'

export type SecretParts = {
  /** Undefined where the operator has set no key. */
  readonly secretStore: SecretStore | undefined
  readonly rotateKeys: (() => Promise<Rotation>) | undefined
}

const ONE = '/secrets/:name'
const CONSENT = '/secrets/consents/:layer/:module'
const NOT_STORED = { 'Cache-Control': 'private, no-store' }
const SECRET_BODY: DeclaredBody = {
  what: 'A body with a secret',
  // In the longest form of JSON, a secret has six times as many bytes: `\u0001`.
  size: 'bulk',
  wayOut: 'A secret may have 64 KB. Store a part of it, or a key with which the tool fetches it.',
}
const CONSENT_BODY: DeclaredBody = {
  what: 'A body with a consent',
  size: 'single',
  wayOut: 'It needs only the digest.',
}

export function secretRoutes({ secretStore, rotateKeys }: SecretParts): readonly Route[] {
  function store(): SecretStore {
    if (!secretStore) throw new ToolrackError('KEYS_UNAVAILABLE', NO_KEY)
    return secretStore
  }

  return [
    route({
      method: 'GET',
      path: '/secrets',
      schemas: async () => (await import('./secret-schemas.ts')).LIST_SECRETS,
      ask({ search }) {
        const query = new Query(search, ['layer', 'limit', 'cursor'])
        const after = query.one('cursor')
        if (after !== undefined && !isSecretName(after)) throw invalidParameter('cursor', BAD_CURSOR)
        return { layer: layerIn(query), limit: query.integer('limit', 1, SECRETS_MAX) ?? SECRETS_MAX, after }
      },
      action: ({ layer }) => readSecrets(layer),
      async handle({ principal, asked: { layer, limit, after }, path, search, res }) {
        const found = await store().page(ownerOf(layer, principal.uid), limit + 1, after)
        const items = found.slice(0, limit).map((secret) => ({ ...secret, layer }))
        const cursor = found.length > limit ? items.at(-1)?.name : undefined
        const body = { items, cursor: cursor ?? null }
        sendJson(res, 200, body, { ...NOT_STORED, ...nextPage(path, search, cursor) })
      },
    }),
    route({
      method: 'GET',
      path: ONE,
      schemas: async () => (await import('./secret-schemas.ts')).READ_SECRET,
      ask: askedLayer,
      action: readSecrets,
      async handle({ principal, asked: layer, params: { name }, res }) {
        const owner = ownerOf(layer, principal.uid)
        const found = isSecretName(name) ? await store().find(owner, name) : undefined
        if (!found) throw secretNotFound(layer)
        sendJson(res, 200, { ...found, layer }, NOT_STORED)
      },
    }),
    route({
      method: 'PUT',
      path: ONE,
      schemas: async () => (await import('./secret-schemas.ts')).WRITE_SECRET,
      takesBody: true,
      ask: askedLayer,
      action: governSecrets,
      audit: { layer: 'query', isName: isSecretName },
      async handle(request) {
        const { principal, asked: layer, params, res } = request
        const { value, ...rest } = await readObject(request, SECRET_BODY)
        if (!isSecretName(params.name)) throw secretNotFound(layer)
        if (Object.keys(rest).length > 0)
          throw bodyInvalid('The body: it takes value, and nothing else: {"value": "…"}.')
        const wrong = valueFault(value)
        if (wrong !== undefined || typeof value !== 'string')
          throw bodyInvalid(`The body at /value: ${wrong ?? 'it must be a text'}.`)
        await store().put(ownerOf(layer, principal.uid), params.name, value)
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    route({
      method: 'DELETE',
      path: ONE,
      schemas: async () => (await import('./secret-schemas.ts')).DELETE_SECRET,
      ask: askedLayer,
      action: governSecrets,
      audit: { layer: 'query', isName: isSecretName },
      async handle({ principal, asked: layer, params: { name }, res }) {
        const owner = ownerOf(layer, principal.uid)
        if (!isSecretName(name) || !(await store().delete(owner, name))) throw secretNotFound(layer)
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    route({
      method: 'PUT',
      path: CONSENT,
      schemas: async () => (await import('./secret-schemas.ts')).GIVE_CONSENT,
      takesBody: true,
      ask: refuseParameters,
      action: governSecrets('user'),
      async handle(request) {
        const { principal, params, res } = request
        const { digest, ...rest } = await readObject(request, CONSENT_BODY)
        const to = consentModule(params)
        if (!isDigest(digest) || Object.keys(rest).length > 0)
          throw bodyInvalid('The body at /digest: it must be the digest in the message of the refused call.')
        await store().consent(principal.uid, to, digest)
        request.note?.({ digest })
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    route({
      method: 'DELETE',
      path: CONSENT,
      schemas: async () => (await import('./secret-schemas.ts')).REVOKE_CONSENT,
      ask: refuseParameters,
      action: governSecrets('user'),
      async handle({ principal, params, res }) {
        if (!(await store().revoke(principal.uid, consentModule(params)))) throw consentNotFound()
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    route({
      method: 'POST',
      path: '/secrets/keys/rotation',
      schemas: async () => (await import('./secret-schemas.ts')).ROTATE_KEYS,
      ask: refuseParameters,
      action: governSecrets('global'),
      async handle({ res, note }) {
        if (!rotateKeys) throw new ToolrackError('KEYS_UNAVAILABLE', NO_KEY)
        const rotation = await rotateKeys()
        note?.({ subject: { ...rotation } })
        sendJson(res, 200, rotation, NOT_STORED)
      },
    }),
  ]
}

const BAD_CURSOR = 'is not one that this service gave; take it from the Link header'

const NO_KEY =
  'This service keeps no secrets, because it has no key for them. The operator sets TOOLRACK_SECRETS_KEY to a key that `openssl rand -base64 32` makes.'

function layerIn(query: Query): SecretLayer {
  return query.choice('layer', SECRET_LAYERS, 'user')
}

function askedLayer({ search }: { readonly search: string }): SecretLayer {
  return layerIn(new Query(search, ['layer']))
}

function consentModule(params: { readonly layer: string; readonly module: string }): ConsentModule {
  const layer = CONSENT_LAYERS.find((one) => one === params.layer)
  if (!layer || !isModuleName(params.module)) throw consentNotFound()
  return { layer, module: params.module }
}

function consentNotFound(): ToolrackError {
  return new ToolrackError(
    'ITEM_NOT_FOUND',
    'You have not consented to such a module of the layer global or file.',
    {
      details: [{ reason: 'ITEM_NOT_FOUND', kind: 'consent' }],
    },
  )
}
