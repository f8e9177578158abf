import { existsSync, readFileSync } from 'node:fs'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** Positions in the header of a database: of the byte that is 2 if there is a write-ahead log, and of the counter of changes. */
const VERSION_AT = 18
const COUNTER_AT = 24

/** The commits of a SQLite database so far. A checkpoint of its write-ahead log lowers the number. */
export function commitsIn(database: string): number {
  if (!existsSync(database)) return 0
  const head = readFileSync(database).subarray(0, 100)
  if (head[VERSION_AT] === 2 || head.length < 100) return walCommits(database)
  return head.readUInt32BE(COUNTER_AT)
}

/**
 * The commits in the write-ahead log of a SQLite database since its last checkpoint: the frames that end a transaction
 * (https://www.sqlite.org/fileformat2.html#walformat). Frames of an older log have other salts.
 */
function walCommits(database: string): number {
  const path = `${database}-wal`
  const log = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  if (log.length < HEADER_BYTES) return 0
  const pageBytes = log.readUInt32BE(8)
  const salts = log.subarray(16, 24)
  let commits = 0
  for (let at = HEADER_BYTES; at + FRAME_HEADER_BYTES <= log.length; at += FRAME_HEADER_BYTES + pageBytes) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break
    if (log.readUInt32BE(at + 4) > 0) commits += 1
  }
  return commits
}
