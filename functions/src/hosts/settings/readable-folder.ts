import { readdirSync } from 'node:fs'
import { inFile, parsed } from '../../settings/variables.ts'

/** Reads the path of a folder that must exist. The folder is opened here, so that a wrong path ends the start with its name. */
export const readableFolder = inFile('path', parsed(existing, 'must be a folder that can be read'))

function existing(path: string): string | undefined {
  try {
    readdirSync(path)
    return path
  } catch {
    return undefined
  }
}
