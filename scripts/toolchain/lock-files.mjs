import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { manifestPaths } from './stamp.mjs'

/**
 * What is wrong with the lock files, found without a network. Each must say what the manifests it stands for say.
 * `functions/package-lock.json`, which Cloud Build installs from, must also install exactly that, and never name a
 * workspace package, which anybody could publish.
 */
export function lockFileProblems(root) {
  const rootLock = readJson(join(root, 'package-lock.json'))
  const deployLock = readJson(join(root, 'functions/package-lock.json'))
  const deployManifest = readJson(join(root, 'functions/package.json'))
  const manifests = manifestPaths(root).filter((path) => path.endsWith('package.json'))
  return [
    ...manifests.flatMap((path) => {
      const workspace = relative(root, dirname(path)).replaceAll('\\', '/')
      return differences('package-lock.json', readJson(path), rootLock.packages[workspace])
    }),
    ...differences('functions/package-lock.json', deployManifest, deployLock.packages['']),
    ...notInstalledAsWritten(deployManifest, deployLock),
  ]
}

function differences(lockName, manifest, locked = {}) {
  return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) => {
    const wanted = manifest[kind] ?? {}
    const found = locked[kind] ?? {}
    return Object.keys({ ...wanted, ...found })
      .filter((name) => wanted[name] !== found[name])
      .map(
        (name) => `${lockName}: ${manifest.name} wants ${name} ${wanted[name]}, the lock says ${found[name]}`,
      )
  })
}

function notInstalledAsWritten({ dependencies = {} }, { packages }) {
  const wrong = Object.keys(dependencies).filter(
    (name) => packages[`node_modules/${name}`]?.version !== dependencies[name],
  )
  const ours = Object.keys(packages).filter((path) => packages[path].link || path.includes('/@toolrack/'))
  return [
    ...wrong.map(
      (name) => `functions/package-lock.json: ${name} is not installed as ${dependencies[name]}, exactly`,
    ),
    ...ours.map((path) => `functions/package-lock.json: ${path} is ours and no package of the registry`),
  ]
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
