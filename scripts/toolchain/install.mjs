import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withInstallLock } from './install-lock.mjs'

/**
 * Fills one folder of packages and stamps it. `missing` says what is to be done and is asked again once the lock is ours,
 * because whoever held it before us may have done it already; `folders` are emptied first, so nothing of an install that
 * was cut short is taken for whole; `fill` does the work, tells of each process that it starts, and gives the stamp's text.
 */
export async function install({ root, what, stampPath, missing, folders, fill, say = sayOnStderr }) {
  await withInstallLock(
    join(root, '.toolrack', 'install.lock'),
    async (lock) => {
      if (!missing()) return
      say(`Installing ${what} ...`)
      rmSync(stampPath, { force: true })
      for (const folder of folders) empty(folder)
      const stamp = await fill((child) => lock.alsoHeldBy(child.pid))
      // A workspace without a dependency gets no folder from npm.
      mkdirSync(dirname(stampPath), { recursive: true })
      writeFileSync(stampPath, stamp)
    },
    { onWait: () => say(`Waiting for another install in this checkout to finish ...`) },
  )
}

/** Empties, not removes: a container may have a volume mounted here. */
function empty(folder) {
  try {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  } catch (err) {
    if (err.code !== 'ENOENT') throw err
  }
}

function sayOnStderr(line) {
  process.stderr.write(`${line}\n`)
}
