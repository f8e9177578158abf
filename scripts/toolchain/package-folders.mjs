import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

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

/** Puts `filled` in the place of `folder`, which moves to `old`. */
export function replacePackages({ filled, folder }, old) {
  try {
    if (existsSync(folder)) renameSync(folder, old)
  } catch (err) {
    if (!isMount(err)) throw err
    // A container may have a volume mounted there, which can be emptied but not moved.
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
    if (existsSync(filled)) copy(filled, folder)
    return
  }
  try {
    if (existsSync(filled)) move(filled, folder)
  } catch (err) {
    rmSync(folder, { recursive: true, force: true })
    if (existsSync(old)) renameSync(old, folder)
    throw err
  }
}

function move(from, to) {
  try {
    renameSync(from, to)
  } catch (err) {
    if (!isMount(err)) throw err
    copy(from, to)
  }
}

function copy(from, to) {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

function isMount({ code }) {
  return code === 'EBUSY' || code === 'EXDEV'
}
