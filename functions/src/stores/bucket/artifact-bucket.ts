import { ToolrackError } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import {
  checkKey,
  isArtifactKey,
  keyStart,
  PIECE_BYTES_MAX,
  type ArtifactBytes,
  type ByteRange,
  type WrittenBytes,
} from '../../features/artifacts/artifact-bytes.ts'
import { AccountToken, EMULATOR_TOKEN } from './account-token.ts'
import { BucketConnection, orStoreFailed, piecesOf, type Upload } from './bucket-connection.ts'

/** The names of the objects begin with this text, because the bucket may also have other files of the project. */
const PREFIX = 'toolrack/artifacts/'
/** How many objects are listed by one request. The answer then has less than 100 KB. */
const PAGE_LENGTH = 500
/** How many objects are deleted at the same time. */
const AT_ONCE = 8

/** The bytes of artifacts as objects in a bucket of Cloud Storage. All instances of the service may use the same bucket. */
export class ArtifactBucket implements ArtifactBytes {
  readonly #objects: string
  readonly #uploads: string
  readonly #connection: BucketConnection

  constructor(bucket: string, connection: BucketConnection) {
    const path = `storage/v1/b/${encodeURIComponent(bucket)}/o`
    this.#objects = `/${path}`
    this.#uploads = `/upload/${path}`
    this.#connection = connection
  }

  async write(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<WrittenBytes> {
    checkKey(key)
    const path = `${this.#uploads}?uploadType=media&name=${encodeURIComponent(PREFIX + key)}`
    const sha256 = createHash('sha256')
    let bytes = 0
    let upload: Upload | undefined
    try {
      for await (const piece of content) {
        bytes += piece.length
        if (bytes > bytesMax) throw new ToolrackError('BODY_TOO_LARGE')
        sha256.update(piece)
        upload ??= await this.#connection.upload(path)
        if (piece.length > 0) await upload.send(piece)
      }
      upload ??= await this.#connection.upload(path)
      await upload.end()
    } catch (error) {
      upload?.abort()
      throw error
    }
    return { bytes, sha256: sha256.digest('hex') }
  }

  async read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    const path = this.#pathOf(key)
    const { status } = await this.#connection.askText('GET', `${path}?fields=size`, [404])
    return status === 404 ? undefined : this.#pieces(path, range)
  }

  async remove(keys: readonly string[]): Promise<void> {
    const waiting = keys.map((key) => this.#pathOf(key)).values()
    const work = async (): Promise<void> => {
      for (const path of waiting) await this.#connection.askText('DELETE', path, [404])
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, keys.length) }, work))
  }

  async removeMadeBefore(ms: number): Promise<number> {
    const end = PREFIX + keyStart(ms)
    let removed = 0
    for (let page: string | undefined = ''; page !== undefined;) {
      const query = new URLSearchParams({ prefix: PREFIX, endOffset: end, maxResults: String(PAGE_LENGTH) })
      query.set('fields', 'items(name),nextPageToken')
      if (page !== '') query.set('pageToken', page)
      const { body } = await this.#connection.askText('GET', `${this.#objects}?${query.toString()}`)
      const { names, next } = await orStoreFailed(() => Promise.resolve(body).then(listedIn))
      // The emulator does not know `endOffset`.
      const keys = names.filter((name) => name < end).map((name) => name.slice(PREFIX.length))
      const old = keys.filter(isArtifactKey)
      await this.remove(old)
      removed += old.length
      page = names.some((name) => name >= end) ? undefined : next
    }
    return removed
  }

  close(): Promise<void> {
    this.#connection.close()
    return Promise.resolve()
  }

  async *#pieces(path: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const end = range && Number.isFinite(range.end) ? range.end : ''
    const headers: Record<string, string> = range ? { Range: `bytes=${range.start}-${end}` } : {}
    const res = await this.#connection.ask('GET', `${path}?alt=media`, [416], headers)
    // A range that begins behind the end of the content.
    if (res.statusCode === 416) res.destroy()
    else yield* piecesOf(res, PIECE_BYTES_MAX)
  }

  #pathOf(key: string): string {
    checkKey(key)
    return `${this.#objects}/${encodeURIComponent(PREFIX + key)}`
  }
}

/**
 * The bucket of this name, with the credentials of this machine. If FIREBASE_STORAGE_EMULATOR_HOST is set, the bucket is in that
 * emulator. Nothing is opened before the first request.
 */
export function artifactBucket(name: string, env: NodeJS.ProcessEnv = process.env): ArtifactBucket {
  const { FIREBASE_STORAGE_EMULATOR_HOST: emulator } = env
  const connection = emulator
    ? new BucketConnection(`http://${emulator}`, EMULATOR_TOKEN)
    : new BucketConnection('https://storage.googleapis.com', new AccountToken())
  return new ArtifactBucket(name, connection)
}

function listedIn(body: string): { readonly names: readonly string[]; readonly next: string | undefined } {
  const { items = [], nextPageToken } = JSON.parse(body) as {
    readonly items?: readonly { readonly name: string }[]
    readonly nextPageToken?: string
  }
  return { names: items.map(({ name }) => name), next: nextPageToken }
}
