import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { lastingFault } from './find-files.ts'

/** Because of O_NONBLOCK, opening does not block if there is a pipe in place of the file. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/**
 * Reads a file synchronously, in one turn of the event loop. A start waits for hundreds of small files. Reading them in this way
 * takes a fifth of the time.
 */
export function readBytes(
  path: string,
  bytesMax: number,
  what = 'a definitions file',
): { readonly bytes: Buffer } | { readonly fault: string } {
  let file: number | undefined
  try {
    file = openSync(path, FLAGS)
    const { size } = fstatSync(file)
    if (size > bytesMax) return { fault: `is ${size} bytes; ${what} may have ${bytesMax}` }
    return { bytes: readFileSync(file) }
  } catch (error) {
    const fault = error as NodeJS.ErrnoException
    return { fault: lastingFault(fault) ?? `cannot be read: ${fault.code ?? fault.message}` }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
