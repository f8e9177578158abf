import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const stampName = '.toolrack-stamp'

/** Files that describe all packages of a folder. An addition replaces them, the stamp last. */
const summaries = ['.package-lock.json', stampName]

/** Adds to `folder` the packages that only `filled` has. Both have the same lock, so the other packages are the same. */
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

/** Puts each `filled` in the place of its `folder`, which moves to `old`. */
export function replacePackages(pairs) {
  for (const pair of pairs) replace(pair, pairs)
}

/** Moves the old folders back after a replacement that did not come to its end. */
export function restorePackages(pairs) {
  for (const { folder, old } of pairs) {
    if (!existsSync(old)) continue
    remove(folder)
    renameSync(old, folder)
  }
}

function replace({ filled, folder, old }, pairs) {
  // A folder that was not there becomes an empty one, which can move back like the others.
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(old), { recursive: true })
  try {
    renameSync(folder, old)
  } catch (err) {
    if (err.code === 'EXDEV') return replaceFromCopy(filled, folder, pairs)
    // A container may have a volume mounted there, which cannot be moved. On Windows a program has opened a file.
    if (err.code === 'EBUSY' && process.platform !== 'win32') return replaceEntries(filled, folder, pairs)
    throw err
  }
  if (existsSync(filled)) move(filled, folder)
}

/** For a folder that cannot move to `old`, on another file system. The old packages stay until the copy is complete. */
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

/** Empties the folder and fills it. No stamp is there meanwhile, so if this is interrupted the next command installs again. */
function replaceEntries(filled, folder, pairs) {
  for (const pair of pairs) remove(join(pair.folder, stampName))
  for (const name of readdirSync(folder)) remove(join(folder, name))
  const names = existsSync(filled) ? readdirSync(filled) : []
  for (const name of names.filter((each) => each !== stampName)) move(join(filled, name), join(folder, name))
  if (names.includes(stampName)) move(join(filled, stampName), join(folder, stampName))
}

/** Moves a file or folder. Nothing that is half copied ever has the name `to`. */
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
