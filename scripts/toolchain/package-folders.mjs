import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const stampName = '.toolrack-stamp'

/** Files that describe all packages of a folder. `addPackages` replaces them in this order, so the stamp comes last. */
const summaries = ['.package-lock.json', stampName]

/** Adds to `folder` the packages that only `filled` has. Both come from the same lock file, so the other packages are equal. */
export function addPackages({ filled, folder }) {
  if (!existsSync(filled)) return
  if (!existsSync(folder)) return move(filled, folder)
  addMissing(filled, folder)
  for (const name of summaries)
    if (existsSync(join(filled, name))) move(join(filled, name), join(folder, name))
}

function addMissing(from, to) {
  const present = new Map(readdirSync(to, { withFileTypes: true }).map((entry) => [entry.name, entry]))
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const other = present.get(entry.name)
    const paths = [join(from, entry.name), join(to, entry.name)]
    if (other === undefined) move(...paths)
    else if (other.isDirectory() && entry.isDirectory()) addMissing(...paths)
  }
}

/** Moves each `folder` to its `old`, and each `filled` to the place of its `folder`. */
export function replacePackages(pairs) {
  for (const pair of pairs) replace(pair, pairs)
}

/** Moves the old folders back after an incomplete replacement. */
export function restorePackages(pairs) {
  for (const { folder, old } of pairs) {
    if (!existsSync(old)) continue
    remove(folder)
    renameSync(old, folder)
  }
}

function replace({ filled, folder, old }, pairs) {
  // If the folder does not exist, makes an empty one, which can move back like the others.
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(old), { recursive: true })
  try {
    renameSync(folder, old)
  } catch (err) {
    if (err.code === 'EXDEV') return replaceFromCopy(filled, folder, pairs)
    // EBUSY: a container may have mounted a volume at `folder`, which cannot be moved. On Windows it means that a program has
    // opened a file.
    if (err.code === 'EBUSY' && process.platform !== 'win32') return replaceEntries(filled, folder, pairs)
    throw err
  }
  if (existsSync(filled)) move(filled, folder)
}

/** Replaces a folder that cannot move to `old`, because `old` is on another file system. Removes nothing before the copy is complete. */
function replaceFromCopy(filled, folder, pairs) {
  const copied = `${folder}.new`
  remove(copied)
  try {
    if (existsSync(filled)) copy(filled, copied)
    replaceEntries(copied, folder, pairs)
  } finally {
    remove(copied)
  }
}

/** Empties the folder and fills it. The stamps are removed first, so if this is interrupted, the next command installs again. */
function replaceEntries(filled, folder, pairs) {
  for (const pair of pairs) remove(join(pair.folder, stampName))
  for (const name of readdirSync(folder)) remove(join(folder, name))
  const names = existsSync(filled) ? readdirSync(filled) : []
  for (const name of names.filter((each) => each !== stampName)) move(join(filled, name), join(folder, name))
  if (names.includes(stampName)) move(join(filled, stampName), join(folder, stampName))
}

/** Moves a file or folder. An incomplete copy never has the name `to`. */
function move(from, to) {
  try {
    renameSync(from, to)
  } catch (err) {
    if (err.code !== 'EXDEV') throw err
    const copied = `${to}.new`
    remove(copied)
    copy(from, copied)
    renameSync(copied, to)
  }
}

function copy(from, to) {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

function remove(path) {
  rmSync(path, { recursive: true, force: true })
}
