import { readableName } from '@toolrack/contract'

/**
 * Names of fields and parameters that hold secrets, in lower case and without `-`, `_`, `.` and blanks. The last line has the word
 * for a password in other languages.
 */
const SECRET_NAME = new RegExp(
  [
    'passw(?:or[dt]|d)|passphrase|passcode|^pass$|^pwd$|^pin(?:code)?$|^otp$|secret|token',
    'apikey|(?:access|account|auth|encryption|master|private|shared|signing|ssh)key',
    'authorization|^auth$|^jwt$|bearer|cookie|credential|sessionid|signature|^sig$',
    'contrase[nñ]a|motdepasse|senha|wachtwoord|пароль|密[码碼]|パスワード|비밀번호',
  ].join('|'),
)

/** A name whose last word is short for a password: `DB_PASS`, `userPwd`. Not `bypass`. */
const LAST_WORD = /[-_.\s](?:pass|pwd)$|[a-z0-9](?:Pass|Pwd)$|[-_.\s](?:PASS|PWD)$/

/**
 * A longer name with letters outside ASCII counts as the name of a secret. To put its letters into their usual order takes
 * quadratic time.
 */
const OTHER_LETTERS_LENGTH_MAX = 256

/** The length of the shortest of these names. */
const LENGTH_MIN = 2

/** Numbers of tokens are no secrets: `max_tokens`, `tokenCount`. */
const COUNT_NAME = /tokens$|token(?:count|limit|budget)/

export function isSecretName(name: string): boolean {
  if (name.length < LENGTH_MIN) return false
  if (SECRET_NAME.test(plainName(name)) || LAST_WORD.test(name)) return true
  if (!/[^ -~]/.test(name)) return false
  if (name.length > OTHER_LETTERS_LENGTH_MAX) return true
  // Letters of other widths and accents in several forms, and then also invisible characters and letters that look alike.
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

/** True for the name of a member that says what another member has: `{"name": "Authorization", "value": "…"}`. */
export function isLabel(name: string): boolean {
  return /^(?:name|key|header|field|variable)$/i.test(name)
}

/** True for the name of that other member. */
export function isLabelled(name: string): boolean {
  return /^(?:value|val|content)$/i.test(name)
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.\s]/g, '')
}
