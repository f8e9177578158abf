import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AuditTrail } from '../../features/audit/audit-trail.ts'
import type { Log } from '../../log.ts'
import { builtFileLayer } from '../../stores/files/built-file-layer.ts'
import { FileAgents } from '../../stores/files/file-agents.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import { FirestoreAuditStore } from '../../stores/firestore/firestore-audit-store.ts'
import type { FirestoreConnection } from '../../stores/firestore/firestore-connection.ts'
import { FirestoreInvocationLogs } from '../../stores/firestore/firestore-invocation-logs.ts'
import { ApprovalWebhook } from '../../platform/webhook/approval-webhook.ts'
import { absentRunner } from '../../catalog/definitions/runner.ts'
import { authenticationOf } from '../authentication.ts'
import { bucketOf } from '../bucket-of.ts'
import { OWN_DEFS_DIR, type Config } from '../config.ts'
import { firestoreGovernance } from '../firestore-governance.ts'
import { namedRunner } from '../named-runner.ts'
import { createServices, type Services } from '../services.ts'

/** The file in which the build writes the file layer, beside the bundle. Beside the source there is no such file. */
const BUILT_FILE_LAYER = fileURLToPath(new URL('./file-layer.json', import.meta.url))

/** The longest deadline of a call. Hosting waits 60 s for a function, so a call must be answered earlier than that. */
const DEADLINE_MS_MAX = 50_000

/** The most change feeds of an instance. An instance serves 80 requests at once, and calls and lists need most of them. */
const FEEDS_MAX = { perUser: 10, all: 20 } as const

const NO_RUNNER = 'No runner is named: set RUNNER_URL, or RUNNER_SERVICE and TOOLRACK_REGION.'
const NO_RUNNER_IN_EMULATOR =
  'The emulators have no runner: start them with npm run dev, or set RUNNER_URL and RUNNER_SECRET of a runner.'

export function cloudServices(config: Config, log: Log): Services {
  const connection = firestoreConnection()
  const isEmulator = process.env['FUNCTIONS_EMULATOR'] === 'true'
  const isBuilt = config.isShippedDefinitions && existsSync(BUILT_FILE_LAYER)
  const services = createServices({
    store: (compilers) => new FirestoreDefinitionStore({ compilers, connection }),
    files: (compilers) =>
      isBuilt
        ? builtFileLayer(BUILT_FILE_LAYER)
        : new FileLayer(config.definitionsFolder, compilers, { ownFolder: OWN_DEFS_DIR }),
    agentFiles: new FileAgents(config.agentsFolder.path),
    logs: new FirestoreInvocationLogs(connection, { bounds: config.logBounds }),
    governance: firestoreGovernance(connection, config.sealing, config.secretKeys),
    artifactBytes: bucketOf(config, log),
    audit: cloudAudit(config, log, connection),
    deadlineMsMax: DEADLINE_MS_MAX,
    feedBounds: FEEDS_MAX,
    // Hosting adds this header to the requests that it passes on. A request that is sent to the function directly does not have
    // it.
    isBehindBuffer: ({ headers }) => headers['x-forwarded-host'] !== undefined,
    runner: namedRunner(config.runner, log) ?? absentRunner(isEmulator ? NO_RUNNER_IN_EMULATOR : NO_RUNNER),
    ...authenticationOf(config),
    log,
    operatorRules: config.operatorRules,
    webhook: config.approvalsWebhook && new ApprovalWebhook(config.approvalsWebhook, log),
    settings: config.settings,
    corsOrigins: config.corsOrigins,
    callLimits: config.callLimits,
  })
  // The report about the operator's rules reads the layers. No request waits for the report.
  if (config.operatorRules) void services.catalog.shared().then(services.reportOperatorRules)
  return services
}

/** The audit trail in Firestore. If TOOLRACK_AUDIT_KEY is not set, the records of a day are not signed by a manifest. */
function cloudAudit({ audit: { mode, days, key } }: Config, log: Log, connection: FirestoreConnection) {
  if (mode === 'off') return undefined
  if (!key) log.warn('the days of the audit trail are not signed', { missing: 'TOOLRACK_AUDIT_KEY' })
  return new AuditTrail({ store: new FirestoreAuditStore(connection), mode, days, key, log })
}
