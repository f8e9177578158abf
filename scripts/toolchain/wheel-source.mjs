import { resolve } from 'node:path'

/**
 * Where uv finds wheels, if the operator has set a source of their own (docs/how-to/run.md): options, and variables of the environment.
 * The address of an index is no option, because it may contain a password, and everybody on the machine sees the options of a process.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function uvSource(env = process.env) {
  const { TOOLRACK_PACKAGES_WHEELS: folder, TOOLRACK_PACKAGES_INDEX: index } = env
  if (folder) return { options: ['--no-index', '--find-links', resolve(folder)], variables: {} }
  return { options: [], variables: index ? { UV_DEFAULT_INDEX: index } : {} }
}

/**
 * The same for pip. The source is searched in addition to pip's own index, because the packages of the runner itself may be only there.
 * This is safe, because pip installs only what has the hash in the lock.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function pipSource(env = process.env) {
  const {
    TOOLRACK_PACKAGES_WHEELS: folder,
    TOOLRACK_PACKAGES_INDEX: index,
    PIP_EXTRA_INDEX_URL: others,
  } = env
  if (folder) return { options: [`--find-links=${resolve(folder)}`], variables: {} }
  const all = [others, index].filter(Boolean).join(' ')
  return { options: [], variables: index ? { PIP_EXTRA_INDEX_URL: all } : {} }
}
