import { optionInvalid } from './errors.ts'
import { jsonIn, JsonService, type JsonServiceOptions } from './json-service.ts'
import { withNetworkErrors } from './service.ts'

/**
 * An image, a file or a long text that the service keeps for the user. `type` is what its maker has said. Times are ISO 8601, UTC.
 * `invocationId` and `tool` name the call that has made it. They are null for an upload.
 */
export type Artifact = {
  readonly id: string
  readonly bytes: number
  /** The SHA-256 of the content in hexadecimal digits. */
  readonly sha256: string
  readonly type: string
  readonly name: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly invocationId: string | null
  readonly tool: string | null
}

/** An address of an artifact that needs no token. */
export type ArtifactLink = { readonly url: string; readonly expiresAt: string }

export type ArtifactOptions = JsonServiceOptions

/**
 * Keeps files at the service, and reads what tools have made. The methods reject with OPTION_INVALID, TOKEN_FAILED,
 * SERVICE_REFUSED (`reason` is the code of the service, such as ARTIFACT_NOT_FOUND) or SERVICE_UNAVAILABLE.
 */
export class Artifacts {
  readonly #service: JsonService

  /** `deadlineMs` is 60,000 by default. Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ deadlineMs = 60_000, ...service }: ArtifactOptions) {
    this.#service = new JsonService({ deadlineMs, ...service })
  }

  /** Uploads a file. A call can name it by its id, in an argument whose schema says `format: "artifact"`. */
  upload(
    content: Blob | Uint8Array | string,
    { name, type }: { readonly name?: string; readonly type?: string } = {},
  ): Promise<Artifact> {
    const body = content instanceof Blob ? content : new Blob([content as Uint8Array<ArrayBuffer> | string])
    const headers = {
      'Content-Type': type || body.type || 'application/octet-stream',
      // A header has only ASCII. The service decodes the name.
      ...(name !== undefined && { 'X-Name': encodeURIComponent(name.toWellFormed()) }),
    }
    return this.#service.send({ method: 'POST', body, headers }, '../artifacts', jsonIn<Artifact>)
  }

  /**
   * The content. With `start` and `end` it is a part of it: the bytes from `start` to before `end`, as in `Blob.slice`. Its `type`
   * is a safe one, which may differ from that of the artifact.
   */
  async get(
    id: string,
    { start = 0, end }: { readonly start?: number; readonly end?: number } = {},
  ): Promise<Blob> {
    const isPart = start > 0 || end !== undefined
    if (!(start >= 0) || (end !== undefined && !(end > start)))
      throw optionInvalid('end must be greater than start, and start at least 0')
    const range = { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` }
    const init = { method: 'GET', ...(isPart && { headers: range }) }
    return this.#service.send(init, pathOf(id), (response, signal) =>
      withNetworkErrors(signal, () => response.blob()),
    )
  }

  /** All artifacts of the user, the oldest first. */
  async list(): Promise<readonly Artifact[]> {
    const all: Artifact[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `../artifacts${cursor && `?cursor=${encodeURIComponent(cursor)}`}`
      const page: Page = await this.#service.ask<Page>('GET', path)
      all.push(...page.items)
      cursor = page.cursor ?? null
    }
    return all
  }

  /** Makes an address that shows the content without a token, for ten minutes. */
  async link(id: string): Promise<ArtifactLink> {
    const link = await this.#service.ask<ArtifactLink>('POST', `${pathOf(id)}/link`)
    // The service does not know its own address, so it answers a path.
    return { ...link, url: this.#service.addressOf(`../..${link.url}`) }
  }

  async delete(id: string): Promise<void> {
    await this.#service.ask('DELETE', pathOf(id))
  }
}

type Page = { readonly items: readonly Artifact[]; readonly cursor?: string | null }

function pathOf(id: string): string {
  if (!/^[\w-]{1,64}$/.test(id)) throw optionInvalid('id must be the id of an artifact')
  return `../artifacts/${id}`
}
