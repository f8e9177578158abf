import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'

/** The first two bytes of the application ids of all databases of this service: "TR". */
const OURS = 0x54_52
/** The length of the header of a database, and the positions of numbers in it (sqlite.org/fileformat2.html). */
const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const PAGE_BYTES_AT = 16
const PAGES_AT = 28
const APPLICATION_ID_AT = 68
/** The smallest page of a database. */
const PAGE_BYTES_MIN = 512
/** The first bytes of a write-ahead log, without the last bit. */
const LOG_MAGIC = 0x37_7f_06_82
const LOG_HEADER_BYTES = 32

/** True if the path is a database that this service has opened before, in a version that writes application ids. */
export function isMarked(path: string): boolean {
  const header = firstBytes(path, HEADER_BYTES)
  return header.length === HEADER_BYTES && header.readUInt16BE(APPLICATION_ID_AT) === OURS
}

/**
 * True if the end of a database is missing. SQLite takes a file that is shorter than a page for an empty database. If less than a
 * page is missing, SQLite reads zeros. A file with a log may have fewer pages than its header says, because the log has the
 * missing pages.
 */
export function isCut(path: string): boolean {
  const bytes = statSync(path).size
  const header = firstBytes(path, HEADER_BYTES)
  if (bytes < PAGE_BYTES_MIN || header.length < HEADER_BYTES) return true
  const pageBytes = header.readUInt16BE(PAGE_BYTES_AT)
  // SQLite itself refuses files without a valid header.
  if (!header.toString('latin1').startsWith(MAGIC) || pageBytes < PAGE_BYTES_MIN) return false
  return bytes % pageBytes !== 0 || (bytes < header.readUInt32BE(PAGES_AT) * pageBytes && !hasLog(path))
}

/** True if the database has a write-ahead log that is not empty. */
export function hasLog(path: string): boolean {
  let real: string
  try {
    // If the path is a link, SQLite puts the log beside the target of the link.
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
