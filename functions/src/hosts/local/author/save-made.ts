import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MadeContent } from '../../../catalog/definitions/runner.ts'
import { AuthorError } from './author-error.ts'

/** What a name on the disk keeps: letters and digits of any language, and a few signs. */
const NOT_SAFE = /[^\p{L}\p{N}._ -]/gu

/** The most UTF-16 code units of a name on the disk. Each may need three bytes, and file systems allow 255. */
const NAME_LENGTH_MAX = 80

/**
 * Writes the images and files that a tool has returned into a folder, which is made if it does not exist. Returns a line about
 * each. Without a folder, the lines only say what there is. Throws an AuthorError if a file cannot be written.
 */
export function saveMade(made: readonly MadeContent[], folder: string | undefined): string[] {
  try {
    if (folder !== undefined && made.length > 0) mkdirSync(folder, { recursive: true })
    return made.map((part, index) => {
      const facts = `${part.mimeType}, ${part.bytes.length} bytes`
      const name = nameOf(part, index + 1)
      if (folder === undefined)
        return `${part.type} ${index + 1}: ${name} (${facts}); --save FOLDER writes it`
      const path = join(folder, name)
      writeFileSync(path, part.bytes)
      return `saved ${path} (${facts})`
    })
  } catch (error) {
    throw new AuthorError(`${folder}: the images and files cannot be written (${(error as Error).message}).`)
  }
}

/** A name on the disk. It begins with the number, so that a tool cannot replace a file of another name in the folder. */
function nameOf({ name }: MadeContent, number: number): string {
  return `${number}-${name.replaceAll(NOT_SAFE, '_').slice(-NAME_LENGTH_MAX)}`
}
