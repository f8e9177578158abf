import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Lends a temporary folder, and removes it however the work ends. */
export async function withWorkplace<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-bench-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove).on('SIGINT', interrupt).on('SIGTERM', interrupt)
  try {
    return await work(folder)
  } finally {
    process.off('exit', remove).off('SIGINT', interrupt).off('SIGTERM', interrupt)
    remove()
  }
}

function interrupt(): never {
  process.exit(130)
}
