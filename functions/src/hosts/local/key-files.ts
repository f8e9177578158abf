import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newJobKeys, parseJobKeys, type JobKeys } from '../../access/job-keys.ts'
import { LOCAL_TOKEN_RULE, newLocalToken, parseLocalToken, TOKEN_FILES } from '../../access/local-token.ts'
import { newAuditKey, parseAuditKey, type AuditKey } from '../../features/audit/manifest.ts'
import { newSealingKey, parseSealingKey, type Sealing } from '../../calls/sealing.ts'
import {
  newSecretKey,
  parseSecretKeysFile,
  SecretKeys,
  secretKeysFile,
} from '../../features/secrets/secret-keys.ts'
import { SECRET_KEYS_FILE } from './private-files.ts'
import { writeWholeFile } from '../../write-whole-file.ts'
import { EXIT, reasonOf, StartError } from './start-error.ts'

/** What a key file contains. The first start makes the file, and only the account of the server can read it. */
type Content<Value> = {
  /** Reads the content of the file. Returns undefined if it is not valid. */
  readonly parse: (text: string) => Value | undefined
  readonly make: () => string
  /** The words for the content in a message, after `does not hold`. */
  readonly holds: string
  /** The words for what would be lost with a new file in a message, after `remove it for a new one`. */
  readonly loss?: string
}

export function openToken(folder: string, kind: keyof typeof TOKEN_FILES): string {
  return readOrMake(join(folder, TOKEN_FILES[kind]), {
    parse: parseLocalToken,
    make: newLocalToken,
    holds: `a token (${LOCAL_TOKEN_RULE})`,
    loss: ', which all programs with the old one then need',
  })
}

export function openJobKeys(folder: string): JobKeys {
  return readOrMake(join(folder, 'job-keys.json'), {
    parse: parseJobKeys,
    make: newJobKeys,
    holds: 'keys of job tokens',
    loss: ': job tokens of the old keys are then refused',
  })
}

/** Reads the key that encrypts stored data about calls. */
export function openSealing(folder: string): Sealing {
  return readOrMake(join(folder, 'sealing-key'), {
    parse: parseSealingKey,
    make: newSealingKey,
    holds: 'a key',
    loss: ': what waits for an approval must then be asked again, and results that are kept for an Idempotency-Key cannot be read any more',
  })
}

/** Reads the keys that seal the secrets of users. A rotation replaces them. */
export function openSecretKeys(folder: string): SecretKeys {
  const path = join(folder, SECRET_KEYS_FILE)
  const keys = readOrMake(path, {
    parse: parseSecretKeysFile,
    make: () => secretKeysFile([newSecretKey()]),
    holds: 'keys of secrets',
    loss: ': the secrets that are stored cannot be read then, and the server does not start before npm run secrets -- forget has deleted them',
  })
  return new SecretKeys(keys, (kept) => writeWholeFile(path, secretKeysFile(kept)))
}

/** Reads the key that signs the manifests of the audit trail. */
export function openAuditKey(folder: string): AuditKey {
  return readOrMake(join(folder, 'audit-key.json'), {
    parse: parseAuditKey,
    make: newAuditKey,
    holds: 'a key of the audit trail',
    loss: ': the trail then shows that its key was replaced',
  })
}

/**
 * Reads the file, or makes it if there is none. An empty or damaged file is never replaced. The server itself never leaves such a
 * file, because a new file gets its name only after it is complete.
 */
function readOrMake<Value>(path: string, { parse, make, holds, loss = '' }: Content<Value>): Value {
  const text = textOf(path, make)
  const value = parse(text)
  if (value !== undefined) return value
  const fault = text.trim() === '' ? 'is empty' : `does not hold ${holds}`
  throw new StartError(
    `${path} ${fault}. A person, another program or the disk has changed it. Put a copy of it back, or remove it for a new one${loss}.`,
    EXIT.damagedData,
  )
}

function textOf(path: string, make: () => string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(path, error)
  }
  const text = make()
  try {
    writeWholeFile(path, text)
    return text
  } catch (error) {
    throw unusable(path, error)
  }
}

function unusable(path: string, error: unknown): StartError {
  return new StartError(
    `${path} cannot be used (${reasonOf(error)}); make it a file of this account, or remove it for a new one.`,
    EXIT.unwritableData,
  )
}
