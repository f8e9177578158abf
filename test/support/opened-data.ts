import { cpSync } from 'node:fs'
import { RuleStore } from '../../functions/src/features/rules/rule-store.ts'
import { openData } from '../../functions/src/hosts/local/open-data.ts'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { temporaryFolder } from './temporary-folder.ts'

const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Opens a data folder as the embedded server does. `warnings` are the messages of its log. */
export function openedData(folder: string, env: Readonly<Record<string, string>> = {}) {
  const warnings: string[] = []
  const log = { ...NO_LOG, warn: (message: string) => void warnings.push(message) }
  const data = openData(parseConfig({ ...env, TOOLRACK_DATA: folder }), log)
  async function close(): Promise<void> {
    data.closing()
    await data.audit?.close()
    for (const part of [data.logs, data.governance]) await part.close()
    await data.store(undefined as never).close()
    data.release()
  }
  return { ...data, warnings, close }
}

/** The rules in an opened folder. */
export function rulesOf({ governance }: Pick<ReturnType<typeof openData>, 'governance'>): RuleStore {
  return new RuleStore(governance.documents(Date.now))
}

/** A copy of a folder as it is now. While a server has the folder open, it is what a killed server leaves. */
export function copyOf(folder: string): ReturnType<typeof temporaryFolder> {
  const copy = temporaryFolder()
  cpSync(folder, copy.path, { recursive: true })
  return copy
}
