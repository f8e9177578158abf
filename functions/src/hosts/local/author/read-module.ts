import { statSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { FILE_BYTES_MAX } from '../../../features/folder/read-module-file.ts'
import { readModuleFolder } from '../../../features/folder/read-module-folder.ts'
import { INIT_FILE } from '../../../catalog/definitions/module-content.ts'
import type { ModuleSource } from '../../../catalog/definitions/runner.ts'
import { AuthorError } from './author-error.ts'

/**
 * Reads a module from a file, or from a folder with `__init__.py`. Throws an AuthorError. The runner decides later whether a
 * module can have this name.
 */
export async function readModule(path: string): Promise<ModuleSource> {
  const stats = statOf(path)
  if (basename(path) === INIT_FILE) return readFolder(dirname(path))
  if (stats.isDirectory()) return readFolder(path)
  if (!stats.isFile()) throw new AuthorError(`${path} is no file.`)
  refuseSize(path, stats.size)
  return { name: moduleNameOf(path), source: await readBytes(path) }
}

/** The name of the module in a file. Throws an AuthorError if the file is not a Python file. */
export function moduleNameOf(path: string): string {
  const file = basename(path)
  if (!file.endsWith('.py') || file === '.py')
    throw new AuthorError(`${path}: the name of a module's file ends in .py, such as weather.py.`)
  return file.slice(0, -'.py'.length)
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path)
    const source = await file.readFile()
    refuseSize(path, source.length)
    return source
  } catch (error) {
    throw unreadable(path, error)
  }
}

function statOf(path: string) {
  try {
    return statSync(path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof AuthorError || code === undefined) return error
  if (code === 'ENOENT') return new AuthorError(`There is no file ${path}.`)
  const why = code === 'EACCES' || code === 'EPERM' ? 'permission denied' : code
  return new AuthorError(`${path} cannot be read (${why}).`)
}

function refuseSize(path: string, bytes: number): void {
  if (bytes <= FILE_BYTES_MAX) return
  const [size, most] = [bytes, FILE_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  throw new AuthorError(`${path} is ${size} bytes; a module may have ${most}. Split it.`)
}

/** Reads a folder in the same way as the watched folder. */
async function readFolder(path: string): Promise<ModuleSource> {
  const root = dirname(resolve(path))
  const name = basename(resolve(path))
  const entries = await readdir(root, { withFileTypes: true })
  const entry = entries.find((each) => each.name === name)
  const read = entry && (await readModuleFolder(root, entry, { watch: () => undefined }))
  if (read?.found === 'content' && read.files) return { name, files: read.files }
  const message = read?.found === 'fault' ? read.fault['message'] : undefined
  if (typeof message === 'string') throw new AuthorError(message)
  throw new AuthorError(`${path} is a folder without ${INIT_FILE}, so it is no module. Name a .py file.`)
}
