import { ToolrackError } from '@toolrack/contract'
import type { Sealing, SealedPlace } from '../../calls/sealing.ts'
import { parseObject } from '../../parse-object.ts'
import { isArtifactKey } from './artifact-bytes.ts'

/**
 * How long a link is valid, in milliseconds: 10 minutes. Whoever has the link reads the artifact, and links are left in histories
 * and in logs of proxies.
 */
export const LINK_MS = 10 * 60 * 1_000

/** The longest text that is opened. A link of a user with the longest id has fewer characters. */
const LINK_LENGTH_MAX = 512

/** The address of a link, without what `make` adds. The Cloud Function for users serves it with and without `/workflows`. */
export const LINKED = '/artifacts/linked'

/** What a link names: an artifact of a user. */
export type Linked = { readonly uid: string; readonly id: string }

type Parts = {
  /** Without it, no link can be made. */
  readonly sealing: Sealing | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Makes and reads links. A link has the user, the artifact and its end, sealed with the key of this installation (AES-256-GCM). So
 * nobody can make or change one without the key, and it does not show who the user is.
 */
export class ArtifactLinks {
  readonly #sealing: Sealing | undefined
  readonly #now: () => number

  constructor({ sealing, now }: Parts) {
    this.#sealing = sealing
    this.#now = now
  }

  /** The caller has checked that the user has the artifact. Throws KEYS_UNAVAILABLE on a service without a sealing key. */
  make({ uid, id }: Linked): { readonly url: string; readonly expiresAt: string } {
    if (!this.#sealing) throw new ToolrackError('KEYS_UNAVAILABLE', NO_KEY)
    const endMs = this.#now() + LINK_MS
    const sealed = this.#sealing.seal(JSON.stringify({ uid, id, endMs }), PLACE)
    return { url: `/workflows${LINKED}/${sealed}`, expiresAt: new Date(endMs).toISOString() }
  }

  /** Undefined for a link that is not valid any more, and for what is no link. */
  open(sealed: string): Linked | undefined {
    if (sealed.length > LINK_LENGTH_MAX) return undefined
    const text = this.#sealing?.open(sealed, PLACE)
    const { uid, id, endMs } = (text !== undefined && parseObject(text)) || {}
    if (typeof uid !== 'string' || typeof id !== 'string' || typeof endMs !== 'number') return undefined
    const leftMs = endMs - this.#now()
    // If the clock was set back, the link does not become valid for longer.
    return isArtifactKey(id) && leftMs > 0 && leftMs <= LINK_MS ? { uid, id } : undefined
  }
}

/** A text that was sealed for something else is no link, and a link is nothing else. */
const PLACE: SealedPlace = { kind: 'artifact link', uid: '', id: '' }

const NO_KEY =
  'This service cannot sign links. The operator sets TOOLRACK_SEALING_KEY to a key that `openssl rand -base64 32` makes.'
