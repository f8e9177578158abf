import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A stamp is a line inside a folder of packages that says which manifests the install came from. It is written last and
 * removed first, so an install that was cut short never looks finished, and reading it is all a warm start does.
 */

/** What a stamp compares: the bytes of the files, in order, for this operating system and processor, and what else counts. */
export function fingerprint(paths, ...facts) {
  const hash = createHash('sha256').update([process.platform, process.arch, ...facts].join('-'))
  for (const path of paths) hash.update('\0').update(readIfThere(path))
  return hash.digest('hex')
}

/** The stamp's fingerprint and its one word, or undefined when the install never finished. */
export function readStamp(path) {
  const [digest, word] = readIfThere(path).trimEnd().split(' ')
  return digest && word ? { digest, word } : undefined
}

export function stampText(digest, word) {
  return `${digest} ${word}\n`
}

/** The root lock file and the manifest of every workspace: any change in one of them asks for an install. */
export function manifestPaths(root) {
  const { workspaces = [] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const folders = workspaces.flatMap((pattern) => workspaceFolders(root, pattern))
  return ['package-lock.json', 'package.json', ...folders.map((folder) => join(folder, 'package.json'))].map(
    (path) => join(root, path),
  )
}

/** Reads the two shapes our manifest uses: `functions` and `packages/*`. */
function workspaceFolders(root, pattern) {
  if (!pattern.endsWith('/*')) return [pattern]
  const parent = pattern.slice(0, -2)
  return readdirSync(join(root, parent))
    .toSorted()
    .map((name) => join(parent, name))
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (err) {
    if (err.code === 'ENOENT' || err.code === 'ENOTDIR') return ''
    throw err
  }
}
