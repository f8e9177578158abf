import { ToolrackError } from '@toolrack/contract'
import { EVERYBODY } from '../../documents/collection.ts'

/** The layers to which a stored secret can belong. Modules of the file layer get the global ones. */
export const SECRET_LAYERS = ['user', 'global'] as const
export type SecretLayer = (typeof SECRET_LAYERS)[number]

/** The name of a secret, as the runner accepts it in the spec of a tool (`child/module/spec_fields.py`). */
const NAME = /^[A-Z_][A-Z0-9_]{0,127}$/

export const SECRET_NAME_RULE = 'capital letters, digits and _, at most 128, and no digit first'

export function isSecretName(name: string): boolean {
  return NAME.test(name)
}

/**
 * The fewest bytes of a secret. The service removes secrets from everything that leaves a call, and would find a shorter text in
 * many words that are not secrets.
 */
export const SECRET_BYTES_MIN = 8
/** The most bytes of a secret. Keys, certificates and files of credentials are smaller. */
export const SECRET_BYTES_MAX = 64 * 1024
/** The most bytes of all secrets of one call. The service searches each of them in about 30 spellings. */
export const CALL_SECRETS_BYTES_MAX = 64 * 1024
/** The most secrets of a user, and of everybody. A page of a list has all of them. */
export const SECRETS_MAX = 200

/** The prefix of a secret in a spec that is the caller's own, in every layer. */
const OF_CALLER = 'caller:'

/** A secret as a spec names it: its name, and whether it is the caller's own. */
export type WantedSecret = { readonly name: string; readonly isOfCaller: boolean }

export function wantedSecret(text: string): WantedSecret {
  const isOfCaller = text.startsWith(OF_CALLER)
  return { name: isOfCaller ? text.slice(OF_CALLER.length) : text, isOfCaller }
}

/** The owner of the documents of a layer. */
export function ownerOf(layer: SecretLayer, uid: string): string {
  return layer === 'global' ? EVERYBODY : uid
}

/** The fault of a value that cannot be stored. Undefined if there is none. A message never repeats the value. */
export function valueFault(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'it must be a text'
  if (!value.isWellFormed()) return 'it must be a text that UTF-8 can hold'
  const bytes = Buffer.byteLength(value)
  if (Buffer.byteLength(value.trim()) < SECRET_BYTES_MIN)
    return `it must have at least ${SECRET_BYTES_MIN} bytes without the blanks at its ends, because a shorter text cannot be removed from results and logs`
  if (bytes > SECRET_BYTES_MAX) return `it may have at most ${SECRET_BYTES_MAX} bytes (UTF-8)`
  return undefined
}

export function secretNotFound(layer: SecretLayer): ToolrackError {
  const message =
    layer === 'global' ? 'There is no global secret of that name.' : 'You have stored no secret of that name.'
  return new ToolrackError('ITEM_NOT_FOUND', message, {
    details: [{ reason: 'ITEM_NOT_FOUND', kind: 'secret' }],
  })
}
