import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newJobKeys, parseJobKeys } from '../../access/job-keys.ts'
import type { JobKeys } from '../../access/job-keys.ts'
import { EXIT, StartError } from './start-error.ts'

/** The keys of job tokens in the data folder, made on the first start and readable by their owner only. */
export function openJobKeys(folder: string): JobKeys {
  const path = join(folder, 'job-keys.json')
  const keys = parseJobKeys(keyText(path))
  if (keys) return keys
  throw new StartError(
    `${path} does not hold keys of job tokens; correct it, or remove it for a new key.`,
    EXIT.damagedData,
  )
}

function keyText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(path, error)
  }
  try {
    const text = newJobKeys()
    writeFileSync(path, text, { mode: 0o600 })
    return text
  } catch (error) {
    throw unusable(path, error)
  }
}

function unusable(path: string, error: unknown): StartError {
  const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
  return new StartError(
    `${path} can not be used (${reason}); make it a file of this account, or remove it for a new key.`,
    EXIT.unwritableData,
  )
}
