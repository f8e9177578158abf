import { z } from 'zod'
import { byName, count, digest, none, nothing, page, time } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { CONSENT_LAYERS } from './secret-store.ts'
import { SECRET_BYTES_MAX, SECRET_BYTES_MIN, SECRET_LAYERS, SECRET_NAME_RULE, SECRETS_MAX } from './secret.ts'

const layer = z
  .enum(SECRET_LAYERS)
  .optional()
  .describe('`user` for your own secrets, `global` for those of global modules. Default: `user`.')
const named = byName(`The name of the secret: ${SECRET_NAME_RULE}.`)
const secret = z.strictObject({ name: z.string(), layer: z.enum(SECRET_LAYERS), updatedAt: time })

export const LIST_SECRETS: RouteSchemas = {
  summary: 'Lists the names of stored secrets. Nobody can read the values.',
  params: none,
  query: z.strictObject({ layer, ...page(SECRETS_MAX, SECRETS_MAX) }),
  answers: { 200: z.strictObject({ items: z.array(secret), cursor: z.string().nullable() }) },
}
export const READ_SECRET: RouteSchemas = {
  summary: 'Says when a secret was stored.',
  params: named,
  query: z.strictObject({ layer }),
  answers: { 200: secret },
}
export const WRITE_SECRET: RouteSchemas = {
  summary: 'Stores a secret, or replaces it. Its value cannot be read again.',
  params: named,
  query: z.strictObject({ layer }),
  body: z.strictObject({
    value: z
      .string()
      .describe(
        `The value: ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX.toLocaleString('en')} bytes of text (UTF-8), without the blanks at its ends.`,
      ),
  }),
  answers: { 204: nothing },
}
export const DELETE_SECRET: RouteSchemas = {
  summary: 'Deletes a secret.',
  params: named,
  query: z.strictObject({ layer }),
  answers: { 204: nothing },
}

const consentModule = z.strictObject({
  layer: z.enum(CONSENT_LAYERS).describe('The layer of the module.'),
  module: z.string().describe('The name of the module.'),
})

export const GIVE_CONSENT: RouteSchemas = {
  summary: 'Consents that a tool of a global or file module gets your own secrets when you call it.',
  params: consentModule,
  query: none,
  body: z.strictObject({
    digest: digest.describe('The digest of the grants of the tool, as the message of GRANTS_PENDING has it.'),
  }),
  answers: { 204: nothing },
}
export const REVOKE_CONSENT: RouteSchemas = {
  summary: 'Takes back all consents to a module.',
  params: consentModule,
  query: none,
  answers: { 204: nothing },
}
export const ROTATE_KEYS: RouteSchemas = {
  summary: 'Seals all secrets of all users with a new key.',
  params: none,
  query: none,
  answers: {
    200: z.strictObject({
      key: z.string().describe('The id of the key that seals from now on.'),
      resealed: count,
      unreadable: count.describe(
        'The secrets whose key is missing. While there are some, no key is dropped.',
      ),
      isDone: z
        .boolean()
        .describe('False if other keys are left: the operator removes them from TOOLRACK_SECRETS_KEY.'),
    }),
  },
}
