import { createApp } from '../../functions/src/hosts/services.ts'
import { authenticationOf } from '../../functions/src/hosts/authentication.ts'
import { cloudLog } from '../../functions/src/hosts/cloud/log.ts'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { builtFileLayer } from '../../functions/src/stores/files/built-file-layer.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { createServices } from '../../functions/src/hosts/services.ts'
import { MemoryDefinitionStore } from '../../test/support/memory-definition-store.ts'
import { memoryGovernance } from '../../test/support/memory-governance.ts'
import { memoryInvocationLogs } from '../../test/support/memory-invocation-logs.ts'

/** Toolrack's function without Firestore: the same app, the built file layer, and an empty store. */
const config = parseConfig({ ...process.env, PORT: '', TOOLRACK_AUTH: 'firebase' })

export const jobs = createApp(
  createServices({
    store: () => new MemoryDefinitionStore(),
    files: () => builtFileLayer(process.env['BENCH_FILE_LAYER'] ?? ''),
    ...authenticationOf(config),
    logs: memoryInvocationLogs(),
    governance: memoryGovernance(),
    runner: absentRunner('No runner belongs to this benchmark.'),
    log: cloudLog,
    settings: config.settings,
    corsOrigins: config.corsOrigins,
  }),
  'jobs',
)
