import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { SetupFailure } from './setup-failure.mjs'

/** firebase-tools refuses an older one. */
export const javaOldest = 21

const java = process.platform === 'win32' ? 'java.exe' : 'java'

/**
 * The folder of a `java` that is new enough. The machine's own is often older than one that lies beside it, so every
 * usual place is looked at: JAVA_HOME, PATH, then where systems and SDKMAN put JDKs, the highest name first.
 */
export function findJava({
  env = process.env,
  platform = process.platform,
  home = homedir(),
  system = '/usr/lib/jvm',
} = {}) {
  const found = []
  for (const folder of new Set(candidates(env, platform, home, system).filter(hasJava).map(realFolder))) {
    const major = javaMajor(join(folder, java))
    if (major >= javaOldest) return folder
    if (major > 0) found.push(major)
  }
  const seen =
    found.length > 0 ? `only Java ${[...new Set(found)].join(', ')} was found` : 'no Java was found'
  throw new SetupFailure(
    `The Firestore emulator needs Java ${javaOldest} or newer, and ${seen}: install a JDK, or set JAVA_HOME to one.`,
  )
}

/** The major version that `java -version` tells: 8 for "1.8.0_412", 21 for "21.0.4", 25 for "25-ea"; 0 when it tells none. */
export function parseJavaMajor(text) {
  const [, first = '0', second = '0'] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? []
  return Number(first) === 1 ? Number(second) : Number(first)
}

function javaMajor(path) {
  const { stdout, stderr } = spawnSync(path, ['-version'], { encoding: 'utf8', timeout: 20_000 })
  return parseJavaMajor(`${stderr}${stdout}`)
}

function candidates(env, platform, home, system) {
  const onPath = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '')
  return [
    ...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin')] : []),
    ...onPath,
    ...subfolders(system).map((name) => join(system, name, 'bin')),
    ...subfolders(join(home, '.sdkman/candidates/java')).map((name) =>
      join(home, '.sdkman/candidates/java', name, 'bin'),
    ),
    ...(platform === 'darwin' ? macFolders() : []),
  ]
}

function macFolders() {
  const { stdout } = spawnSync('/usr/libexec/java_home', ['-v', `${javaOldest}+`], { encoding: 'utf8' })
  return stdout ? [join(stdout.trim(), 'bin')] : []
}

function subfolders(folder) {
  if (!existsSync(folder)) return []
  const byVersion = new Intl.Collator('en', { numeric: true })
  return readdirSync(folder).toSorted((a, b) => byVersion.compare(versionOf(b), versionOf(a)))
}

/** The first number in a folder's name: JDKs are called `temurin-25-jdk-amd64`, `java-1.17.0-openjdk`, `21.0.2-tem`. */
function versionOf(name) {
  return /\d{2,}/.exec(name)?.[0] ?? '0'
}

function hasJava(folder) {
  return existsSync(join(folder, java))
}

/** `java` on PATH is mostly a link into the JDK that it belongs to. */
function realFolder(folder) {
  return dirname(realpathSync(join(folder, java)))
}
