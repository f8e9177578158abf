import type { JsonValue, ToolDefinition } from '@toolrack/contract'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { localAuthentication } from '../../functions/src/access/local-token.ts'
import { DatabaseList } from '../../functions/src/hosts/local/database-list.ts'
import { openToken } from '../../functions/src/hosts/local/key-files.ts'
import { BULK_MAX } from '../../functions/src/catalog/definitions/definition-writer.ts'
import { FileLayer } from '../../functions/src/stores/files/file-layer.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import { SqliteDefinitionStore } from '../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { textLog } from '../../functions/src/log.ts'
import { memoryGovernance } from '../../test/support/memory-governance.ts'
import { memoryInvocationLogs } from '../../test/support/memory-invocation-logs.ts'

const NO_LOG = { warn: () => undefined }
const ADMIN = { kind: 'user', uid: 'local', isAdmin: true } as const

/** Makes the data folder of an embedded server with these definitions in its global layer. Returns the server's environment. */
export async function makeData(
  folder: string,
  definitions: readonly ToolDefinition[],
): Promise<NodeJS.ProcessEnv> {
  const dataFolder = join(folder, `data-${definitions.length}`)
  const emptyFolder = join(folder, 'no-files')
  for (const path of [dataFolder, emptyFolder]) mkdirSync(path, { recursive: true })
  // A server leaves this list in its folder. Without the list, a start would report the other databases as missing.
  const list = new DatabaseList(dataFolder, [], NO_LOG)
  const sent = definitions as readonly unknown[] as readonly JsonValue[]
  const services = createServices({
    store: () => new SqliteDefinitionStore(join(dataFolder, 'toolrack.db')),
    files: (compilers) => new FileLayer(emptyFolder, compilers),
    authenticate: localAuthentication(openToken(dataFolder, 'local')),
    logs: memoryInvocationLogs(),
    governance: memoryGovernance(),
    runner: absentRunner('No runner belongs to this benchmark.'),
    log: textLog(process.stderr),
    corsOrigins: [],
  })
  try {
    for (let start = 0; start < definitions.length; start += BULK_MAX) {
      const bulk = sent.slice(start, start + BULK_MAX)
      await services.writer.putAll(ADMIN, 'global', bulk, { onConflict: 'error', onInvalid: 'fail' })
    }
  } finally {
    list.noteOpen(['toolrack.db'])
    list.noteClosing()
    await closeServices(services)
  }
  return {
    PORT: '0',
    HOST: '127.0.0.1',
    TOOLRACK_DATA: dataFolder,
    TOOLRACK_DEFS_DIR: emptyFolder,
    TOOLRACK_TOOLS_DIR: emptyFolder,
  }
}
