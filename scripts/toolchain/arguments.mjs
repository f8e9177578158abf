import { parseArgs } from 'node:util'
import { HelpText, SetupError } from './setup-error.mjs'

/** The exit code of a command with unknown or missing arguments. */
export const usageCode = 2

const help = { help: { short: 'h', about: 'prints this, and does nothing else' } }

/**
 * Reads the arguments after `npm run <name> --` as `{ values, words }`: the options by their names, and all other arguments in their
 * order. Throws a HelpText for `--help`, and a SetupError for anything that the command does not know.
 *
 * `options` describes each option: what it does (`about`), and the word for its value (`takes`), which a switch does not have.
 * `accepts` checks a value, and `rule` describes the allowed values. An option with `repeats` may have several values, and is a list.
 *
 * `words` describes the other arguments: the word for one (`is`), how many there may be (`most`), and the allowed texts (`oneOf`).
 * With `rest`, only the first argument must be one of these texts.
 */
export function readArguments(command, args = process.argv.slice(2), env = process.env) {
  const { options = {}, words = {} } = command
  const known = { ...options, ...help }
  const { tokens } = parseArgs({
    args,
    options: Object.fromEntries(Object.entries(known).map(([name, option]) => [name, parsed(option)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  if (tokens.some(({ kind, name }) => kind === 'option' && name === 'help'))
    throw new HelpText(helpOf(command, known))

  // npm reads its own options before `--`, and does not pass them on. So `npm run deploy --dry-run` would deploy.
  for (const [name, { takes, short }] of Object.entries(options)) {
    if (tokens.some((token) => token.name === name)) continue
    const [kept] = [name, short].filter((each) => each !== undefined && isKeptByNpm(each, env)).map(dashed)
    if (kept !== undefined)
      throw wrong(
        `npm keeps '${kept}' for itself: write '--' before it, as in ${callOf(command)} ${kept}${takes ? ` ${takes}` : ''}`,
      )
  }
  // With `--dry-run`, the user wants to change nothing. A command without this option would change something.
  if (!Object.hasOwn(options, 'dry-run') && isKeptByNpm('dry-run', env))
    throw wrong("npm keeps '--dry-run' for itself, and this command has no such option. Nothing was done.")
  const values = {}
  const given = []
  for (const token of tokens) {
    if (token.kind === 'option') values[token.name] = valueOf(token, values[token.name])
    if (token.kind === 'positional') given.push(wordOf(token.value, given.length))
  }
  return { values, words: given }

  function valueOf({ name, rawName, value, inlineValue }, before) {
    if (!Object.hasOwn(known, name)) throw unknown(`option '${rawName}'`, name, optionNames())
    const { takes, rule = `a value: ${takes}`, accepts = () => true, repeats } = known[name]
    if (takes === undefined && value !== undefined) throw wrong(`${rawName} takes no value.`)
    if (takes === undefined) return true
    const isMissing = !value || (!inlineValue && value.startsWith('-'))
    if (isMissing || !accepts(value)) throw wrong(`${rawName} takes ${rule}.`)
    // Otherwise only the last of several values would count, without a message.
    if (before !== undefined && !repeats) throw wrong(`${rawName} is there more than once.`)
    return repeats ? [...(before ?? []), value] : value
  }

  function wordOf(text, index) {
    const { is, most = 0, oneOf, rest } = words
    // As a folder, '' would mean the current folder.
    if (text === '') throw wrong('An argument is empty: a variable in the command may have no value.')
    if (index >= most) throw unknown(`argument '${text}'`, text, optionNames())
    if (oneOf === undefined || oneOf.includes(text) || (rest && index > 0)) return text
    throw unknown(`${is} '${text}'`, text, oneOf)
  }

  function optionNames() {
    return Object.keys(known).map((name) => `--${name}`)
  }

  function unknown(what, sent, candidates) {
    const meant = nearest(sent, candidates)
    return wrong(`There is no ${what}.${meant === undefined ? '' : ` Did you mean '${meant}'?`}`)
  }

  function wrong(sentence) {
    return new SetupError(`${sentence}\n${callOf(command)} --help says what there is.`, usageCode)
  }
}

/** True if npm read this option as one of its own. npm sets a variable for the option, with its name in lower case. */
function isKeptByNpm(name, env) {
  return Boolean(env[`npm_config_${name.replaceAll('-', '_').toLowerCase()}`])
}

function dashed(name) {
  return `${name.length > 1 ? '--' : '-'}${name}`
}

function parsed({ takes, short }) {
  return { type: takes === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) }
}

/** `npm start --`, or `npm run bench --`. */
function callOf({ name }) {
  return `npm ${['start', 'test'].includes(name) ? name : `run ${name}`} --`
}

function helpOf(command, known) {
  const { about, words: { is, most, rest } = {} } = command
  const rows = Object.entries(known).map(([name, option]) => [shown(name, option), option.about])
  const width = Math.max(...rows.map(([left]) => left.length))
  const more = rest ? ` [${rest} …]` : most > 1 ? ' …' : ''
  const usage = [callOf(command), ...(is ? [rest ? `[${is}]${more}` : `[${is}${more}]`] : []), '[options]']
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`)
  return `${usage.join(' ')}\n\n${about}\n\n${lines.join('\n')}\n`
}

function shown(name, { takes, short }) {
  const long = name.length > 1 ? `--${name}` : ''
  return (
    [short === undefined ? '' : `-${short}`, long].filter(Boolean).join(', ') + (takes ? ` ${takes}` : '')
  )
}

/** The candidate that begins with the text or is most similar to it, if at most a third of the characters differ. */
function nearest(sent, candidates) {
  const wanted = bare(sent)
  if (wanted === '') return undefined
  const ranked = candidates.map((candidate) => {
    const other = bare(candidate)
    const edits = other.startsWith(wanted) ? 0 : distance(wanted, other)
    return { candidate, share: edits / Math.max(wanted.length, other.length) }
  })
  const [best] = ranked.toSorted((a, b) => a.share - b.share)
  return best !== undefined && best.share <= 1 / 3 ? best.candidate : undefined
}

/** The text in lower case, without the hyphens at its beginning. */
function bare(text) {
  return text.replace(/^-+/, '').toLowerCase()
}

/** How many characters must be inserted, deleted, replaced or exchanged with their neighbor to turn one text into the other. */
function distance(from, to) {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row])
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isExchanged =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      rows[row][column] = Math.min(
        rows[row - 1][column] + 1,
        rows[row][column - 1] + 1,
        rows[row - 1][column - 1] + (isSame ? 0 : 1),
        isExchanged ? rows[row - 2][column - 2] + 1 : Infinity,
      )
    }
  }
  return rows[from.length][to.length]
}
