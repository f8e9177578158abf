import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'

/** The first two bytes of the application id of every database of this service, "TR" in ASCII. */
const OURS = 0x54_52
/** The length of the header of a database, and the positions of numbers in it (sqlite.org/fileformat2.html). */
const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const PAGE_BYTES_AT = 16
const PAGES_AT = 28
const APPLICATION_ID_AT = 68
/** The smallest page of a database. */
const PAGE_BYTES_MIN = 512
/** The first bytes of a write-ahead log. The last bit can be 0 or 1. */
const LOG_MAGIC = 0x37_7f_06_82
const LOG_HEADER_BYTES = 32

/** True if a version of this service that writes application ids has opened the database at this path before. */
export function isMarked(path: string): boolean {
  const header = firstBytes(path, HEADER_BYTES)
  return header.length === HEADER_BYTES && header.readUInt16BE(APPLICATION_ID_AT) === OURS
}

/**
 * True if the end of a database file is missing. SQLite would take a file that is shorter than a page for an empty database. If a
 * part of a page is missing, it would read zeros. If there is a log, the file may have fewer pages than its header says, because
 * the missing pages are in the log.
 */
export function isCut(path: string): boolean {
  const bytes = statSync(path).size
  const header = firstBytes(path, HEADER_BYTES)
  if (bytes < PAGE_BYTES_MIN || header.length < HEADER_BYTES) return true
  const pageBytes = header.readUInt16BE(PAGE_BYTES_AT)
  // A file without a valid header is refused by SQLite itself.
  if (!header.toString('latin1').startsWith(MAGIC) || pageBytes < PAGE_BYTES_MIN) return false
  return bytes % pageBytes !== 0 || (bytes < header.readUInt32BE(PAGES_AT) * pageBytes && !hasLog(path))
}

/** True if the database has a write-ahead log that is not empty. */
export function hasLog(path: string): boolean {
  let real: string
  try {
    // If the path is a link, SQLite puts the log beside the file to which the link leads.
    real = realpathSync(path)
  } catch {
    return false
  }
  const header = firstBytes(`${real}-wal`, LOG_HEADER_BYTES)
  return header.length === LOG_HEADER_BYTES && (header.readUInt32BE(0) & ~1) === LOG_MAGIC
}

/** The first bytes of a file. Fewer than `length` if the file is shorter or cannot be read. */
function firstBytes(path: string, length: number): Buffer {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const bytes = Buffer.alloc(length)
    return bytes.subarray(0, readSync(file, bytes, 0, length, 0))
  } catch {
    return Buffer.alloc(0)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
