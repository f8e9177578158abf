import { Needles, type JsonObject } from '@toolrack/contract'
import { PrintedSecrets } from './printed-secrets.ts'
import { redact, redactText } from './redact.ts'
import { REDACTED } from './redacted.ts'
import { NOT_SENSITIVE, type Sensitivity } from './sensitive.ts'
import { spellings } from './spellings.ts'

/** Removes secrets from texts. */
export type TextFilter = {
  (text: string): string
  /** Makes a filter for a text that arrives in parts. If there are too many secrets, the filter removes the whole text. */
  readonly open: () => Pick<PrintedSecrets, 'take' | 'end'>
}

/**
 * The fewest characters of a known secret that is searched. A shorter value would be found in many words that are not secrets.
 */
const LENGTH_MIN = 4

/** The most known secrets that are searched in a text. If there are more, the whole text is removed. */
const SECRETS_MAX = 200
/** The most UTF-16 code units of all spellings of these secrets together. Preparing the search for so many takes up to 20 ms. */
const SPELLED_LENGTH_MAX = 262_144

/** The most UTF-16 code units of a spelling that is searched. No longer text can be in the output of a call. */
const PRINTED_LENGTH_MAX = 65_536

/**
 * Makes a filter that removes two kinds of secrets from the output of a tool: those that can be recognized, and those that the
 * caller has sent. The latter are the parts of the arguments that a record leaves out. They are found unchanged, as JSON,
 * percent-encoded and in base64. `lengthMax` is the length of the longest output.
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

/** A filter that removes the whole text. */
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
  // An earlier redaction may have replaced a part of the secret, so the secret is split at such parts.
  for (const part of removed.split(REDACTED)) {
    const secret = part.trim()
    // If the secret is from a URL, it is a user and a password. The password alone is a secret too.
    const password = secret.slice(secret.indexOf(':') + 1)
    for (const one of new Set([part, secret, password])) if (one.length >= LENGTH_MIN) found.add(one)
  }
}
