import { parseArgs } from 'node:util'
import { SetupError } from './setup-error.mjs'

const verbs = ['grant', 'revoke']
const options = ['--project', '--help']

/** The exit code for arguments that the command does not know. */
const usageCode = 2

export const adminHelp = `npm run admin -- grant|revoke <uid or mail> [options]

Makes a user an admin of the running emulators, or of a project, by the custom claim toolrackAdmin. revoke removes this
claim. The user's other claims stay.

  --project ID   the Firebase project, with the credentials on this machine
  -h, --help     prints this, and does nothing else
`

/** What `npm run admin` has to do. Throws a SetupError if the arguments are wrong. */
export function adminPlan(args, env = process.env) {
  const known = { help: { type: 'boolean', short: 'h' }, project: { type: 'string' } }
  const { values, positionals } = parseArgs({ args, options: known, strict: false, allowPositionals: true })
  if (values.help) return { isHelp: true }
  const stranger = Object.keys(values).find((name) => !Object.hasOwn(known, name))
  if (stranger !== undefined) throw unknown(`option '--${stranger}'`, `--${stranger}`, options)
  const { project } = values
  if (project !== undefined && (project === '' || project === true || project.startsWith('-')))
    throw wrong('--project takes a value: ID.')
  if (env.npm_config_project && project === undefined)
    throw wrong("npm keeps '--project' for itself: write '--' before it, as in npm run admin -- --project ID")

  const [verb, user, ...more] = positionals
  if (verb === undefined) throw wrong('Nothing was changed: say grant or revoke, and the user.')
  if (!verbs.includes(verb)) throw unknown(`argument '${verb}' before the user`, verb, verbs)
  if (!user) throw wrong(`Whom to ${verb}? Name the user by uid or mail.`)
  if (more.length > 0) throw unknown(`argument '${more[0]}' after the user`, more[0], options)
  return { verb, user, project }
}

function unknown(what, sent, candidates) {
  const [best] = candidates.toSorted((one, other) => likeness(sent, other) - likeness(sent, one))
  return wrong(`There is no ${what}.${likeness(sent, best) > 0.6 ? ` Did you mean '${best}'?` : ''}`)
}

/** The share of the letters of a candidate that the text has too. */
function likeness(text, candidate) {
  const letters = [...candidate.replace(/^--/, '')]
  return letters.filter((letter) => text.toLowerCase().includes(letter)).length / letters.length
}

function wrong(sentence) {
  return new SetupError(`${sentence}\nnpm run admin -- --help says what there is.`, usageCode)
}
