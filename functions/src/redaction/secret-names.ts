import { readableName } from '@toolrack/contract'

/**
 * Matches names of fields and parameters that contain secrets. The names are in lower case and without `-`, `_`, `.` and blanks.
 * The last line has the words for "password" in other languages.
 */
const SECRET_NAME = new RegExp(
  [
    'passw(?:or[dt]|d)|passphrase|passcode|^pass$|^pwd$|^pin(?:code)?$|^otp$|secret|token',
    'apikey|(?:access|account|auth|encryption|master|private|shared|signing|ssh)key',
    'authorization|^auth$|^jwt$|bearer|cookie|credential|sessionid|signature|^sig$',
    'contrase[nñ]a|motdepasse|senha|wachtwoord|пароль|密[码碼]|パスワード|비밀번호',
  ].join('|'),
)

/** Matches a name whose last word is an abbreviation of "password": `DB_PASS`, `userPwd`. Does not match `bypass`. */
const LAST_WORD = /[-_.\s](?:pass|pwd)$|[a-z0-9](?:Pass|Pwd)$|[-_.\s](?:PASS|PWD)$/

/**
 * The most UTF-16 code units of a name with letters outside ASCII that is examined. Normalizing a longer name would take
 * quadratic time, so it counts as the name of a secret.
 */
const OTHER_LETTERS_LENGTH_MAX = 256

/** The length of the shortest name that matches: `密码`. */
const LENGTH_MIN = 2

/** Matches names that stand for a number of tokens, which is not a secret: `max_tokens`, `tokenCount`. */
const COUNT_NAME = /tokens$|token(?:count|limit|budget)/

export function isSecretName(name: string): boolean {
  if (name.length < LENGTH_MIN) return false
  if (SECRET_NAME.test(plainName(name)) || LAST_WORD.test(name)) return true
  if (!/[^ -~]/.test(name)) return false
  if (name.length > OTHER_LETTERS_LENGTH_MAX) return true
  // The name is tested twice: once with normalized widths and accents, and once also without invisible characters and with
  // look-alike letters replaced.
  const normalised = name.normalize('NFKC')
  const readable = readableName(name)
  return (
    (normalised !== name && SECRET_NAME.test(plainName(normalised))) ||
    (readable !== normalised && SECRET_NAME.test(plainName(readable)))
  )
}

export function isCountName(name: string): boolean {
  return COUNT_NAME.test(plainName(name))
}

/**
 * True if the value of this member is itself the name of a value in another member: `{"name": "Authorization", "value": "…"}`.
 */
export function isLabel(name: string): boolean {
  return /^(?:name|key|header|field|variable)$/i.test(name)
}

/** True for the name of the member that contains the value, beside a label (`isLabel`). */
export function isLabelled(name: string): boolean {
  return /^(?:value|val|content)$/i.test(name)
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.\s]/g, '')
}
