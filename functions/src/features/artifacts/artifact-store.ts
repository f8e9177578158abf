import { isToolrackError } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { maySee } from '../../access/visible.ts'
import { put, remove, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { either, isNull, isText, object, type Test } from '../../value-shape.ts'
import {
  artifactKey,
  isArtifactKey,
  keyStart,
  wholeContent,
  type ArtifactBytes,
  type ByteRange,
  type WrittenBytes,
} from './artifact-bytes.ts'
import {
  ARTIFACT_BYTES_MAX,
  artifactNotFound,
  ARTIFACTS_MAX,
  artifactsFull,
  KEPT_MS,
  USER_BYTES_MAX,
  type Artifact,
} from './artifact.ts'

/**
 * How long the room of an upload is reserved, in milliseconds. Servers end a request before this time. If a server is killed
 * during an upload, its user has the room again after this time, or sooner if the server shares its store with no other one.
 */
export const WRITING_MS = 15 * 60 * 1_000

/**
 * How many artifacts are read at once, at least, if the first ones were not for the caller. All of a user's are read in 100 steps,
 * and no more than 100 documents are in memory for a short page.
 */
const READ_MORE = 100

/** The fields of an artifact. While `sha256` is empty, its bytes are still being written, and `bytes` are reserved for it. */
type Fields = {
  readonly bytes: number
  readonly sha256: string
  readonly type: string
  readonly name: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly invocationId: string | null
  readonly tool: string | null
  /** The workflow of the job token whose call has made it. */
  readonly workflow: string | null
}

const isNumber: Test<number> = (value) => typeof value === 'number'
const isTextOrNull = either(isText, isNull)

const ARTIFACTS: Collection<Fields> = {
  name: 'artifacts',
  owner: 'user',
  fields: object<Fields>({
    bytes: isNumber,
    sha256: isText,
    type: isText,
    name: isText,
    createdAtMs: isNumber,
    expiresAtMs: isNumber,
    invocationId: isTextOrNull,
    tool: isTextOrNull,
    workflow: isTextOrNull,
  }),
  expires: ({ expiresAtMs }) => expiresAtMs,
  // An empty artifact counts as one byte, so that a quota that sums bytes counts it too.
  weight: ({ bytes }) => Math.max(1, bytes),
  quota: { count: ARTIFACTS_MAX, bytes: USER_BYTES_MAX, refuse: artifactsFull },
}

/**
 * One document of each user that every new artifact writes. In Firestore, a quota is counted beside the transaction. Two new
 * artifacts at once conflict in this document, so the second one is counted again after the first.
 */
type Turn = { readonly artifacts: number }
const TURNS: Collection<Turn> = {
  name: 'artifact-turns',
  owner: 'user',
  fields: object<Turn>({ artifacts: isNumber }),
}
const TURN: Ref<Turn> = { of: TURNS, key: 'all' }

/** Who reads artifacts. Without a grant, the reader is the owner, or somebody with the owner's link. */
export type Reader = Pick<Principal, 'uid' | 'grant' | 'workflowId'>

/** What an artifact is called, and where it is from. */
export type Made = {
  readonly type: string
  readonly name: string
  readonly invocationId?: string | undefined
  readonly tool?: string | undefined
}

/** What this process has done with artifacts since its start, in numbers. */
export type ArtifactCounts = {
  readonly kept: number
  readonly keptBytes: number
  readonly deleted: number
  /** How many artifacts were not kept because their user had no room. */
  readonly refused: number
}

type Parts = {
  readonly documents: Documents
  readonly bytes: ArtifactBytes
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
  /** False if no other process has the same documents now. Without it, others may have. */
  readonly isShared?: boolean
}

/**
 * The artifacts of users. The document of an artifact is below its owner, so one that belongs to another user is not found, in
 * the same way as one that never was.
 */
export class ArtifactStore {
  readonly #documents: Documents
  readonly #bytes: ArtifactBytes
  readonly #now: () => number
  readonly #log: Pick<Log, 'warn'>
  #counts: ArtifactCounts = { kept: 0, keptBytes: 0, deleted: 0, refused: 0 }
  /** The ids of the uploads of this process that have not ended. */
  readonly #writing = new Set<string>()
  /** Until this time, on the clock of `performance`, there can be uploads that a killed process has not ended. */
  readonly #lostUntilMs: number

  constructor({ documents, bytes, now, log, isShared = true }: Parts) {
    this.#lostUntilMs = isShared ? -Infinity : performance.now() + WRITING_MS
    this.#documents = documents
    this.#bytes = bytes
    this.#now = now
    this.#log = log
  }

  get counts(): ArtifactCounts {
    return this.#counts
  }

  /**
   * Keeps what a user sends. `bytesMax` is the most that may come. So much room is reserved before the first byte is read, so
   * uploads at once stay within the quota. Throws ITEMS_FULL or BODY_TOO_LARGE, or the error of `content`.
   */
  async upload(
    principal: Principal,
    made: Made,
    content: AsyncIterable<Uint8Array>,
    bytesMax: number,
  ): Promise<Artifact> {
    const { id, fields } = this.#begin(principal, made)
    const { uid } = principal
    const expiresAtMs = fields.createdAtMs + WRITING_MS
    const reserved = { ...fields, bytes: bytesMax, expiresAtMs }
    this.#writing.add(id)
    try {
      await this.#putNew(uid, id, reserved)
    } catch (error) {
      this.#writing.delete(id)
      throw error
    }
    try {
      const written = await this.#bytes.write(id, content, bytesMax)
      return this.#counted(await this.#finish(uid, id, { ...fields, ...written }))
    } catch (error) {
      await this.#drop(uid, id)
      throw error
    } finally {
      this.#writing.delete(id)
    }
  }

  /**
   * Keeps bytes that are in memory, as those of a result are. Its bytes are written before its document, so that a call needs one
   * commit. Throws ITEMS_FULL and the errors of the stores.
   */
  async keep(principal: Principal, made: Made, content: Uint8Array): Promise<Artifact> {
    const { id, fields } = this.#begin(principal, made)
    // The bytes are written even if there is no room for them, because nobody knows before whether there is.
    const written = await this.#bytes.write(id, once(content), ARTIFACT_BYTES_MAX)
    try {
      return this.#counted(await this.#putNew(principal.uid, id, { ...fields, ...written }))
    } catch (error) {
      await this.#removeBytes(id)
      throw error
    }
  }

  /** Throws ARTIFACT_NOT_FOUND also for an artifact that the principal may not read. */
  async find(principal: Reader, id: string): Promise<Artifact> {
    const [kept] = isArtifactKey(id) ? await this.#documents.read(principal.uid, [refOf(id)]) : []
    if (!kept || !mayRead(principal, kept.fields)) throw artifactNotFound()
    return artifactOf(kept.key, kept.fields)
  }

  /** The bytes of an artifact that `find` has found. Throws ARTIFACT_NOT_FOUND if it was deleted meanwhile. */
  async content({ id }: Pick<Artifact, 'id'>, range?: ByteRange): Promise<AsyncIterable<Uint8Array>> {
    const content = await this.#bytes.read(id, range)
    if (!content) throw artifactNotFound()
    return content
  }

  /** All bytes of an artifact that `find` has found, in memory. The caller has checked how many there are. */
  async bytesOf(artifact: Artifact): Promise<Uint8Array> {
    const content = await wholeContent(await this.content(artifact))
    if (content.length !== artifact.bytes) throw artifactNotFound()
    return content
  }

  /**
   * Artifacts that the principal may read, the oldest first. With `last`, the key of the last one, there are more. Nothing in a page
   * depends on artifacts that the principal may not read.
   */
  async page(
    principal: Reader,
    limit: number,
    after?: string,
  ): Promise<{ readonly items: readonly Artifact[]; readonly last: string | undefined }> {
    const readable: Artifact[] = []
    let next = { limit: limit + 1, after }
    for (;;) {
      const found = await this.#documents.list(principal.uid, ARTIFACTS, next)
      for (const { key, fields } of found)
        if (mayRead(principal, fields)) readable.push(artifactOf(key, fields))
      // It ends after ARTIFACTS_MAX at the latest, because a user has no more.
      if (found.length < next.limit || readable.length > limit) break
      next = { limit: Math.max(next.limit, READ_MORE), after: found.at(-1)?.key }
    }
    const items = readable.slice(0, limit)
    return { items, last: readable.length > limit ? items.at(-1)?.id : undefined }
  }

  /** Throws ARTIFACT_NOT_FOUND if there is nothing to delete. */
  async delete(principal: Principal, id: string): Promise<void> {
    await this.find(principal, id)
    // The bytes go first: if the server is killed between, the user still finds the artifact, and can delete it again.
    await this.#bytes.remove([id])
    await this.#removeDocument(principal.uid, id)
    this.#counts = { ...this.#counts, deleted: this.#counts.deleted + 1 }
  }

  #counted(artifact: Artifact): Artifact {
    const { kept, keptBytes } = this.#counts
    this.#counts = { ...this.#counts, kept: kept + 1, keptBytes: keptBytes + artifact.bytes }
    return artifact
  }

  #begin(principal: Principal, { type, name, invocationId, tool }: Made) {
    const nowMs = this.#now()
    const fields: Fields = {
      bytes: 0,
      sha256: '',
      type,
      name,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + KEPT_MS,
      invocationId: invocationId ?? null,
      tool: tool ?? null,
      workflow: principal.workflowId ?? null,
    }
    return { id: artifactKey(nowMs), fields }
  }

  async #putNew(uid: string, id: string, fields: Fields): Promise<Artifact> {
    try {
      return await this.#put(uid, id, fields).catch(async (error: unknown) => {
        if (!isFull(error) || !(await this.#dropLost(uid))) throw error
        return this.#put(uid, id, fields)
      })
    } catch (error) {
      if (isFull(error)) this.#counts = { ...this.#counts, refused: this.#counts.refused + 1 }
      throw error
    }
  }

  #put(uid: string, id: string, fields: Fields): Promise<Artifact> {
    const ref = refOf(id)
    return this.#documents.change(uid, [TURN, ref], ([turn]) => ({
      result: artifactOf(id, fields),
      writes: [put(TURN, { artifacts: (turn?.fields.artifacts ?? 0) + 1 }), put(ref, fields)],
    }))
  }

  /** Gives back the room of a user's uploads that a killed process has not ended. True if there were any. */
  async #dropLost(uid: string): Promise<boolean> {
    if (performance.now() > this.#lostUntilMs) return false
    // An older reservation has expired.
    const after = keyStart(this.#now() - WRITING_MS)
    const young = await this.#documents.list(uid, ARTIFACTS, { limit: ARTIFACTS_MAX, after })
    const lost = young.filter(({ key, fields }) => fields.sha256 === '' && !this.#writing.has(key))
    for (const { key } of lost) await this.#drop(uid, key)
    return lost.length > 0
  }

  /** Replaces the reservation. Throws if the reservation is over, because its room may be taken by others. */
  #finish(uid: string, id: string, fields: Fields & WrittenBytes): Promise<Artifact> {
    const ref = refOf(id)
    return this.#documents.change(uid, [ref], ([reserved]) => {
      if (!reserved) throw artifactNotFound()
      return { result: artifactOf(id, fields), writes: [put(ref, fields)] }
    })
  }

  /** Gives back what an upload has reserved and written. Its own faults are logged, because the upload has failed already. */
  async #drop(uid: string, id: string): Promise<void> {
    await this.#removeBytes(id)
    await this.#removeDocument(uid, id).catch((error: unknown) =>
      this.#log.warn('the room of an upload is given back later', { error: String(error) }),
    )
  }

  async #removeBytes(id: string): Promise<void> {
    await this.#bytes
      .remove([id])
      .catch((error: unknown) =>
        this.#log.warn('the bytes of an artifact are removed later', { error: String(error) }),
      )
  }

  #removeDocument(uid: string, id: string): Promise<void> {
    const ref = refOf(id)
    return this.#documents.change(uid, [ref], () => ({ result: undefined, writes: [remove(ref)] }))
  }
}

function isFull(error: unknown): boolean {
  return isToolrackError(error) && error.code === 'ITEMS_FULL'
}

function refOf(id: string): Ref<Fields> {
  return { of: ARTIFACTS, key: id }
}

/**
 * True if the artifact is whole, and the principal may read it. The holder of a job token may read what calls of the token's
 * workflow have made, if the token names their tool.
 */
function mayRead(principal: Reader, { sha256, workflow, tool }: Fields): boolean {
  if (sha256 === '') return false
  if (!principal.grant) return true
  return workflow === principal.workflowId && tool !== null && maySee(principal, { name: tool }).allowed
}

function artifactOf(id: string, fields: Fields): Artifact {
  const { bytes, sha256, type, name, createdAtMs, expiresAtMs, invocationId, tool } = fields
  return {
    id,
    bytes,
    sha256,
    type,
    name,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: new Date(expiresAtMs).toISOString(),
    invocationId,
    tool,
  }
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content)
}
