import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FILE_BYTES_MAX } from '../../../tools/folder/folder-file.ts'
import type { ModuleSource } from '../../../tools/modules/runner.ts'
import { AuthorError } from './author-error.ts'

/** Reads the file of a module. Throws an AuthorError. Whether the module can have this name is for the runner to say. */
export async function readModule(path: string): Promise<ModuleSource> {
  const stats = statOf(path)
  if (stats.isDirectory()) throw new AuthorError(whyNoFolder(path))
  if (!stats.isFile()) throw new AuthorError(`${path} is no file.`)
  refuseSize(path, stats.size)
  return { name: moduleNameOf(path), source: await readBytes(path) }
}

/** The name of the module in a file. Throws an AuthorError if the file is no Python file. */
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

function whyNoFolder(path: string): string {
  const hasInit = statSync(join(path, '__init__.py'), { throwIfNoEntry: false })
  return hasInit
    ? `${path} is a folder. This version takes a module of one file only: name its .py file.`
    : `${path} is a folder without __init__.py, so it is no module. Name a .py file.`
}
