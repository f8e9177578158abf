import type { ToolDefinition } from '@toolrack/contract'
import type { Authentication } from '../../functions/src/hosts/authentication.ts'
import { listen, stopListening } from '../../functions/src/hosts/local/listen.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import type { ServiceParts } from '../../functions/src/hosts/services.ts'
import { ArtifactFiles } from '../../functions/src/stores/files/artifact-files.ts'
import { checkedApp } from './checked-answers.ts'
import { put } from './definition-changes.ts'
import { memoryGovernance } from './memory-governance.ts'
import { memoryInvocationLogs } from './memory-invocation-logs.ts'
import { MemoryDefinitionStore } from './memory-definition-store.ts'
import { temporaryFolder } from './temporary-folder.ts'

export type InProcess = {
  readonly url: string
  readonly store: MemoryDefinitionStore
  readonly feeds: ReturnType<typeof createServices>['changes']['feeds']
  [Symbol.asyncDispose](): Promise<void>
}

/** The whole service over an in-memory store, with a file layer of these tools, in the test's own process. */
export async function inProcess(
  access: Authentication,
  files: readonly ToolDefinition[] = [],
  now: () => number = Date.now,
  parts: Partial<ServiceParts> = {},
): Promise<InProcess> {
  const store = new MemoryDefinitionStore()
  const folder = temporaryFolder()
  const definitions = files.map((tool) => ({ ...put(tool), revision: 'f1' }))
  const services = createServices({
    ...access,
    now,
    runner: absentRunner('No runner belongs to this test.'),
    logs: memoryInvocationLogs(now),
    governance: memoryGovernance(),
    artifactBytes: new ArtifactFiles(folder.path),
    store: () => store,
    files: () => ({
      read: () => Promise.resolve({ revision: 'f1', whole: true, definitions, deleted: [], skipped: [] }),
    }),
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    corsOrigins: [],
    ...parts,
  })
  services.loopWatch.start()
  await services.catalog.load()
  await services.folder?.start()
  const listening = await listen(await checkedApp(services), '127.0.0.1', 0)
  return {
    url: listening.url,
    store,
    feeds: services.changes.feeds,
    [Symbol.asyncDispose]: async () => {
      services.changes.feeds.close()
      await stopListening(listening)
      await closeServices(services)
      folder[Symbol.dispose]()
    },
  }
}
