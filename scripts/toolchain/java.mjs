import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathFolders } from './child.mjs'
import { SetupError } from './setup-error.mjs'

/** The oldest Java that firebase-tools accepts. */
const oldest = 21

const java = process.platform === 'win32' ? 'java.exe' : 'java'

/**
 * The folder of a `java` that is new enough. A machine often has a newer JDK than its default `java`. So this function
 * searches every usual place: JAVA_HOME, PATH, then the folders of systems and SDKMAN, the highest version first.
 * @param {{ env?: NodeJS.ProcessEnv, home?: string, system?: string }} [machine]
 * @returns {string}
 */
export function findJava({ env = process.env, home = homedir(), system = '/usr/lib/jvm' } = {}) {
  const usual = [
    ...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin')] : []),
    ...pathFolders(env),
    ...jdksIn(system),
    ...jdksIn(join(home, '.sdkman/candidates/java')),
    ...(process.platform === 'darwin' ? macJdks() : []),
  ]
  const folders = usual.filter((folder) => existsSync(join(folder, java)))
  const found = new Set()
  // `java` on PATH is usually a link into its JDK.
  for (const folder of new Set(folders.map((each) => dirname(realpathSync(join(each, java)))))) {
    const options = { encoding: 'utf8', timeout: 20_000 }
    const { stdout, stderr } = spawnSync(join(folder, java), ['-version'], options)
    const major = parseJavaMajor(`${stderr}${stdout}`)
    if (major >= oldest) return folder
    if (major > 0) found.add(major)
  }
  const what = found.size > 0 ? `only Java ${[...found].join(', ')} was found` : 'no Java was found'
  throw new SetupError(
    `The Firestore emulator needs Java ${oldest} or newer, and ${what}: install a JDK, or set JAVA_HOME to one.`,
  )
}

/**
 * The major version in the output of `java -version`: 8 for "1.8.0_412", 25 for "25-ea"; 0 if there is none.
 * @param {string} text
 */
export function parseJavaMajor(text) {
  const [, first = '0', second = '0'] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? []
  return Number(first) === 1 ? Number(second) : Number(first)
}

function macJdks() {
  const { stdout } = spawnSync('/usr/libexec/java_home', ['-v', `${oldest}+`], { encoding: 'utf8' })
  return stdout ? [join(stdout.trim(), 'bin')] : []
}

function jdksIn(folder) {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).toSorted((a, b) => versionIn(b) - versionIn(a))
  return names.map((name) => join(folder, name, 'bin'))
}

/** The first number of at least two digits in a folder's name, such as `temurin-25-jdk-amd64`, `java-1.17.0-openjdk` or `21.0.2-tem`. */
function versionIn(name) {
  return Number(/\d{2,}/.exec(name)?.[0] ?? 0)
}
