import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The packages in the lock that hold a binary for this machine and were not installed. They are optional, so npm leaves
 * one out without a word when its download fails, and what needs it breaks later, far from the cause.
 */
export function absentPlatformPackages(root, { withDev }) {
  const { packages = {} } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([, entry]) => entry.optional && (entry.os || entry.cpu) && fitsMachine(entry))
    .filter(([, entry]) => withDev || !entry.dev)
    .map(([path]) => path)
    .filter((path) => !existsSync(join(root, path, 'package.json')))
}

function fitsMachine({ os, cpu, libc }) {
  return allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, libcOfMachine())
}

/** npm's rule: a list of names, or of names that begin with `!` and are not wanted. */
function allows(listed, name) {
  if (listed === undefined) return true
  const names = [listed].flat()
  const refused = names.filter((entry) => entry.startsWith('!')).map((entry) => entry.slice(1))
  return refused.length === names.length ? !refused.includes(name) : names.includes(name)
}

function libcOfMachine() {
  if (process.platform !== 'linux') return 'none'
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
}
