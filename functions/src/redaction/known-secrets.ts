import { Needles, type JsonObject } from '@toolrack/contract'
import { PrintedSecrets } from './printed-secrets.ts'
import { redact, redactText } from './redact.ts'
import { REDACTED } from './redacted.ts'
import { NOT_SENSITIVE, type Sensitivity } from './sensitive.ts'

/** Removes secrets from texts. */
export type TextFilter = {
  (text: string): string
  /** Removes the known secrets from one more text, which comes in pieces. With too many secrets, nothing of it stays. */
  readonly open: () => Pick<PrintedSecrets, 'take' | 'end'>
}

/** A shorter value would be found in many words that are no secrets. */
const LENGTH_MIN = 4

/** The most secrets that a text is looked through for. With more, nothing of the text stays. */
const SECRETS_MAX = 200
/** The UTF-16 code units of all spellings of these secrets. To prepare the search for so many takes up to 20 ms. */
const SPELLED_LENGTH_MAX = 262_144

/** UTF-16 code units. No call prints a longer text, so longer spellings are not looked for. */
const PRINTED_LENGTH_MAX = 65_536

/**
 * Removes secrets from what a tool prints: those that can be recognised, and those that its caller has sent. The latter are the
 * parts of the arguments that a record leaves out. They are found as they are, as JSON, percent-encoded and in base64. `lengthMax`
 * is the length of the longest text.
 */
export function printedFilter(
  args: JsonObject,
  marks: Sensitivity,
  context: JsonObject = {},
  lengthMax = PRINTED_LENGTH_MAX,
): TextFilter {
  const found = new Set<string>()
  redact(args, marks, (secret) => collect(secret, found))
  redact(context, NOT_SENSITIVE, (secret) => collect(secret, found))
  const spelled = new Set(
    [...found]
      .slice(0, SECRETS_MAX)
      .flatMap(spellings)
      .filter(({ length }) => length <= lengthMax),
  )
  const length = [...spelled].reduce((sum, one) => sum + one.length, 0)
  if (found.size > SECRETS_MAX || length > SPELLED_LENGTH_MAX)
    return Object.assign((text: string) => (text === '' ? text : `${REDACTED}\n`), {
      open: () => new NothingPrinted(),
    })
  const needles = new Needles([...spelled])
  const open = (): PrintedSecrets => new PrintedSecrets(needles)
  const filter = (text: string): string => {
    const known = open()
    return redactText(known.take(text) + known.end())
  }
  return Object.assign(filter, { open })
}

/** Shows nothing of a text. */
class NothingPrinted {
  #isAnything = false

  take(piece: string): string {
    this.#isAnything ||= piece !== ''
    return ''
  }

  end(): string {
    return this.#isAnything ? `${REDACTED}\n` : ''
  }
}

function collect(removed: string, found: Set<string>): void {
  // A part of the secret may have been removed before.
  for (const part of removed.split(REDACTED)) {
    const secret = part.trim()
    // The user and the password of a URL.
    const password = secret.slice(secret.indexOf(':') + 1)
    for (const one of new Set([part, secret, password])) if (one.length >= LENGTH_MIN) found.add(one)
  }
}

/**
 * The spellings of a secret: as it is, in JSON with and without letters outside ASCII, percent-encoded as JavaScript and Python do,
 * and in base64.
 */
function spellings(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const percent = encodeURIComponent(secret.toWellFormed())
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  const asciiJson = json.replaceAll(
    /[^ -~]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const pythonPercent = percent.replaceAll('%2F', '/')
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_')
  return [secret, json, asciiJson, percent, pythonPercent, base64, base64url]
}
