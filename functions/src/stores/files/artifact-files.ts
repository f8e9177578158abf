import { ToolrackError } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { chmodSync, constants, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { lstat, mkdir, open, opendir, rename, rm, rmdir, statfs, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import {
  checkKey,
  isArtifactKey,
  keyStart,
  PIECE_BYTES_MAX,
  type ArtifactBytes,
  type ByteRange,
  type WrittenBytes,
} from '../../features/artifacts/artifact-bytes.ts'

/** The folder of files that are still being written. A file moves from there when it is whole. */
const UNFINISHED = 'unfinished'

/**
 * How many digits of a key name its folder. The files of a folder were made in the same 4.7 hours. So there are about 40 folders,
 * and expired ones are removed without a look at the others.
 */
const FOLDER_DIGITS = 6
const FOLDER = /^[0-9a-f]{6}$/

/**
 * The bytes of the disk that artifacts leave free for the databases, which are on the same disk: 256 MB, or 5 % of a smaller disk.
 * Without them, an upload could make every other write of the service fail.
 */
const RESERVE_BYTES = 256 * 1024 * 1024
const RESERVE_SHARE = 0.05

/** After so many bytes of all writes together, the room of the disk is measured again. */
const MEASURE_BYTES = 8 * 1024 * 1024

/** The size of a disk, and how much of it is free for this account, in bytes. */
export type DiskRoom = { readonly bytes: number; readonly freeBytes: number }

const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const OLD = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * The bytes of artifacts as files of one folder. Only this process may use the folder, and only its account can read it. Every
 * path is made of a key, never of a text of a user.
 */
export class ArtifactFiles implements ArtifactBytes {
  readonly #root: string
  readonly #unfinished: string
  readonly #roomOf: (path: string) => Promise<DiskRoom>
  /** The bytes that were written since the room was measured. */
  #unmeasured = 0

  /** Removes the files that a killed server has left unfinished. Throws the error of the file system if this is not possible. */
  constructor(root: string, roomOf = diskRoom) {
    this.#root = root
    this.#roomOf = roomOf
    this.#unfinished = join(root, UNFINISHED)
    mkdirSync(root, { recursive: true, mode: 0o700 })
    makePrivate(root)
    rmSync(this.#unfinished, { recursive: true, force: true })
    mkdirSync(this.#unfinished, { recursive: true, mode: 0o700 })
  }

  async write(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<WrittenBytes> {
    checkKey(key)
    const unfinished = join(this.#unfinished, key)
    try {
      await this.#measure()
      const written = await writeNew(unfinished, this.#withinRoom(content), bytesMax)
      const folder = this.#folderOf(key)
      await guarded(async () => {
        const isNew = (await mkdir(folder, { mode: 0o700, recursive: true })) !== undefined
        await rename(unfinished, join(folder, key))
        await syncFolder(folder)
        if (isNew) await syncFolder(this.#root)
      })
      return written
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => undefined)
      throw error
    }
  }

  async read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    checkKey(key)
    const path = this.#pathOf(key)
    return guarded(async () => {
      const found = await lstat(path).catch(missing)
      return found?.isFile() ? piecesOf(path, range) : undefined
    })
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key)
    await guarded(async () => {
      for (const key of keys) await rm(this.#pathOf(key), { force: true })
    })
  }

  removeMadeBefore(ms: number): Promise<number> {
    const start = keyStart(ms)
    return guarded(async () => {
      let removed = await this.#removeIn(this.#unfinished, start).then(() => 0)
      for await (const { name } of await opendir(this.#root)) {
        if (!FOLDER.test(name) || name > start.slice(0, FOLDER_DIGITS)) continue
        const folder = join(this.#root, name)
        removed += await this.#removeIn(folder, start)
        // Fails if the folder has files. A file that is just being written makes the folder again.
        if (name < start.slice(0, FOLDER_DIGITS)) await rmdir(folder).catch(() => undefined)
      }
      return removed
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** The pieces of a content. Throws STORE_FULL if the disk gets too full meanwhile. */
  async *#withinRoom(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      this.#unmeasured += piece.length
      if (this.#unmeasured > MEASURE_BYTES) await this.#measure()
      yield piece
    }
  }

  /** Throws STORE_FULL if the disk has not more room than its reserve. */
  async #measure(): Promise<void> {
    const { bytes, freeBytes } = await guarded(() => this.#roomOf(this.#unfinished))
    if (freeBytes < Math.min(RESERVE_BYTES, bytes * RESERVE_SHARE))
      throw new ToolrackError('STORE_FULL', NO_ROOM)
    // Only now, so that no other write goes on without a measurement after this one was refused.
    this.#unmeasured = 0
  }

  /** Removes the files of a folder whose keys are less than `start`. Returns how many there were. */
  async #removeIn(folder: string, start: string): Promise<number> {
    let removed = 0
    for await (const { name } of await opendir(folder)) {
      if (!isArtifactKey(name) || name >= start) continue
      await rm(join(folder, name), { force: true })
      removed += 1
    }
    return removed
  }

  #folderOf(key: string): string {
    return join(this.#root, key.slice(0, FOLDER_DIGITS))
  }

  #pathOf(key: string): string {
    return join(this.#folderOf(key), key)
  }
}

/** Lets only this account use the folder. The target of a link is left as it is: it may be a folder of others. */
function makePrivate(root: string): void {
  if (!lstatSync(root).isDirectory()) return
  try {
    chmodSync(root, 0o700)
  } catch {
    // Some file systems keep no modes. The data folder around it has been checked.
  }
}

const NO_ROOM =
  'The disk has no room for artifacts: the rest of it is reserved for the databases. Nothing was kept. The operator must free space.'

async function diskRoom(path: string): Promise<DiskRoom> {
  const { bsize, blocks, bavail } = await statfs(path)
  return { bytes: blocks * bsize, freeBytes: bavail * bsize }
}

async function writeNew(
  path: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<WrittenBytes> {
  const file = await guarded(() => open(path, NEW, 0o600))
  try {
    const sha256 = createHash('sha256')
    let bytes = 0
    for await (const piece of content) {
      bytes += piece.length
      if (bytes > bytesMax) throw new ToolrackError('BODY_TOO_LARGE')
      sha256.update(piece)
      await guarded(() => writeAll(file, piece))
    }
    await guarded(() => file.sync())
    return { bytes, sha256: sha256.digest('hex') }
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await file.write(piece, at)).bytesWritten
}

/** The bytes of a file from `start` to `end`. Opens the file when the first piece is read. */
async function* piecesOf(
  path: string,
  { start, end }: ByteRange = { start: 0, end: Infinity },
): AsyncGenerator<Uint8Array> {
  const file = await guarded(() => open(path, OLD))
  try {
    for (let at = start; at <= end;) {
      const length = Math.min(PIECE_BYTES_MAX, end - at + 1)
      const { bytesRead, buffer } = await guarded(() =>
        file.read(Buffer.allocUnsafeSlow(length), 0, length, at),
      )
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await file.close()
  }
}

/**
 * Resolves when the names of the files in a folder are on the disk. `write-whole-file.ts` does the same, but blocks other requests
 * meanwhile.
 */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(path, 'r')
    await folder.sync()
  } catch {
    // Windows and some network file systems refuse this call. They keep names in their own way.
  } finally {
    await folder?.close()
  }
}

function missing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
}

/** The codes of a disk, or of an account's share of it, that has no room. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

async function guarded<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException
    if (syscall === undefined) throw cause
    throw new ToolrackError(FULL.has(code) ? 'STORE_FULL' : 'STORE_FAILED', undefined, { cause })
  }
}
