import { hash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { contentSha256, filesOf, INIT_FILE } from '../../catalog/definitions/module-content.ts'
import {
  filesTooLarge,
  isModuleSegment,
  MODULE_FILES_BYTES_MAX,
  MODULE_FILES_MAX,
  MODULE_FOLDERS_MAX,
  MODULE_PATH_LENGTH_MAX,
} from '../../catalog/definitions/module-files.ts'
import type { FileFault, FileRead } from './folder-file.ts'
import { faulty, followed, inspectFile, orFault, readFileBytes } from './read-module-file.ts'
import type { InspectedFile, Place } from './read-module-file.ts'

type ReadParts = {
  readonly stamp?: string | undefined
  /** Called with each subfolder before it is read. */
  readonly watch: (path: string) => void
}

type Inspected = { readonly place: Place; readonly file: InspectedFile }

/**
 * Reads the module in the folder `entry` of the watched folder `root`, with its subfolders, unless its stamp is still `stamp`. A
 * folder without `__init__.py` is `gone`: it is no module. Never rejects.
 */
export async function readModuleFolder(
  root: string,
  entry: Dirent,
  { stamp = '', watch }: ReadParts,
): Promise<FileRead> {
  const folder = placeOf(root, '', entry)
  const places = await orFault(folder, () => findFiles(folder, watch))
  if ('found' in places) return places
  const inspected: Inspected[] = []
  for (const place of places) {
    const file = await inspectFile(place)
    // A file was removed just now, which causes another scan. So nothing is read in this one.
    if (file.found === 'gone') return { found: 'same' }
    if (file.found === 'fault') return file
    inspected.push({ place, file })
  }
  const now = stampOf(inspected)
  if (stamp !== '' && now.stamp === stamp) return { found: 'same' }
  return readFiles(folder, inspected, now)
}

/** The files of a module. A name that no file of a module can have, such as that of an editor's temporary file, is left out. */
async function findFiles(
  folder: Place,
  watch: ReadParts['watch'],
): Promise<readonly Place[] | FileFault | { found: 'gone' }> {
  const outside = await followed(folder)
  const { root, path } = folder
  const folders = [folder]
  const files: Place[] = []
  for (const inner of folders) {
    if (inner !== folder) watch(join(root, inner.path))
    const entries = await readdir(join(root, inner.path), { withFileTypes: true })
    if (inner === folder && !entries.some(({ name }) => name === INIT_FILE)) return { found: 'gone' }
    if ('fault' in outside) return outside
    for (const entry of entries.filter(({ name }) => isPart(name))) {
      const place = placeOf(root, `${inner.path}/`, entry)
      if (place.path.length - path.length - 1 > MODULE_PATH_LENGTH_MAX) return pathTooLong(folder, place)
      if (await isFolder(place, entry)) folders.push(place)
      else files.push(place)
    }
    if (files.length > MODULE_FILES_MAX) return tooMany(folder, `${MODULE_FILES_MAX} files`)
    if (folders.length > MODULE_FOLDERS_MAX) return tooMany(folder, `${MODULE_FOLDERS_MAX} folders`)
  }
  return files
}

async function readFiles(
  folder: Place,
  inspected: readonly Inspected[],
  now: ReturnType<typeof stampOf>,
): Promise<FileRead> {
  const size = inspected.reduce((sum, { file }) => sum + file.size, 0)
  if (size > MODULE_FILES_BYTES_MAX) return tooLarge(folder, size, now)
  const byPath = new Map<string, Uint8Array>()
  let bytes = 0
  for (const { place, file } of inspected) {
    const read = await readFileBytes(place, file, MODULE_FILES_BYTES_MAX)
    if (read.found === 'gone') return { found: 'same' }
    if (read.found === 'fault') return read
    bytes += read.bytes.length
    byPath.set(place.path.slice(folder.path.length + 1), read.bytes)
  }
  if (bytes > MODULE_FILES_BYTES_MAX) return tooLarge(folder, bytes, now)
  const content = { files: filesOf(byPath) }
  return { found: 'content', ...content, sha256: contentSha256(content), ...now }
}

function isPart(name: string): boolean {
  return isModuleSegment(name) && name !== '__pycache__' && !name.endsWith('.pyc')
}

function placeOf(root: string, before: string, entry: Dirent): Place {
  return { root, path: `${before}${entry.name}`, isLink: entry.isSymbolicLink() }
}

/** True also for a link to a folder inside the watched folder. */
async function isFolder(place: Place, entry: Dirent): Promise<boolean> {
  if (!place.isLink) return entry.isDirectory()
  const found = await orFault(place, async () => {
    const target = await followed(place)
    return 'real' in target && (await stat(target.real)).isDirectory()
  })
  return found === true
}

/** The stamp of a module in several files. It changes if a file is added, removed or changed. */
function stampOf(inspected: readonly Inspected[]) {
  const changedMs = Math.max(...inspected.map(({ file }) => file.changedMs))
  if (inspected.some(({ file }) => file.stamp === '')) return { stamp: '', changedMs }
  const all = inspected.map(({ place, file }) => `${place.path} ${file.stamp}`)
  return { stamp: hash('sha256', all.join('\n')), changedMs }
}

/**
 * The fault of a module with too many files. The message is that of the runner for an upload, but without the exact number of
 * files.
 */
function tooMany({ path }: Place, most: string): FileFault {
  const sentence = `the module has more than ${most}; at most that many are allowed. Join some, or split the module.`
  return faulty({ path: `${path}/` }, 'files_too_many', sentence)
}

function tooLarge({ path }: Place, bytes: number, now: ReturnType<typeof stampOf>): FileFault {
  return { found: 'fault', fault: filesTooLarge(path, bytes), ...now }
}

function pathTooLong({ path }: Place, long: Place): FileFault {
  const shown = `${long.path.slice(path.length + 1, path.length + 1 + PATH_SHOWN)}…`
  const sentence = `'${shown}' has more than ${MODULE_PATH_LENGTH_MAX} characters. Give it shorter names, or fewer folders.`
  return faulty({ path: `${path}/` }, 'path_invalid', sentence)
}

/** How many characters a message shows of a path that is too long. */
const PATH_SHOWN = 64
