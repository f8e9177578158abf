import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathFolders } from './child.mjs'
import { root } from './checkout.mjs'
import { firestoreJar } from './firestore-jar.mjs'
import { findJava } from './java.mjs'
import { servingEnvironment } from './serving.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * The text that `npm run build` prints: a command that starts the emulators by hand. The command sets the variables that this shell
 * lacks: for the Node of the functions, a Java that is new enough, and the Firestore emulator of the Google Cloud SDK. It also marks
 * the emulators as a server of this checkout, so that no install replaces the packages while they run.
 */
export function byHand(node) {
  if (process.platform === 'win32') return ''
  try {
    const wanted = [node, join(findJava(), 'java')].filter((program) => !isFirstOnPath(program))
    const folders = wanted.map((program) => dirname(program)).join(':')
    const variables = { ...firestoreJar(root).env, ...servingEnvironment(root) }
    const settings = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`)
    const path = folders === '' ? [] : [`PATH=${quoted(folders)}:"$PATH"`]
    const line = [...path, ...settings, 'node_modules/.bin/firebase emulators:start'].join(' ')
    return `Built. npm run dev starts the emulators, with a Python runner. By hand, without Python tools:\n\n  ${line}\n`
  } catch (err) {
    if (err instanceof SetupError) return '' // without Java there are no emulators, and the build is complete
    throw err
  }
}

function isFirstOnPath(program) {
  const name = program.slice(dirname(program).length + 1)
  const first = pathFolders(process.env).find((folder) => existsSync(join(folder, name)))
  return first !== undefined && realpathSync(join(first, name)) === realpathSync(program)
}

/** The text, quoted for a shell if it needs quotes. */
function quoted(text) {
  return /^[\w./:-]+$/.test(text) ? text : inQuotes(text)
}

/** The text in quotes for a shell. */
export function inQuotes(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
