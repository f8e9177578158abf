import type { RequestListener } from 'node:http'
import type { Authenticate } from '../access/authenticate.ts'
import type { DefinitionStore } from '../catalog/definitions/definition-store.ts'
import type { SchemaCompilers } from '../catalog/schemas/schema-compilers.ts'
import type { LayerRead } from '../catalog/views/layer-source.ts'
import type { HostParts } from '../features/host-parts.ts'
import { FEATURES } from '../features/index.ts'
import type { Family } from '../http/route.ts'
import { serveRoutes, type ServedParts } from '../http/serve-routes.ts'
import { redactedLog } from '../redaction/redacted-log.ts'
import { Signal } from '../signal.ts'

/** The parts that a host or a test gives to the service. */
export type ServiceParts = Omit<HostParts, 'openStore' | 'documents' | 'signals' | 'now'> & {
  readonly store: (compilers: SchemaCompilers) => DefinitionStore
  readonly authenticate: Authenticate
  readonly corsOrigins: readonly string[]
  readonly now?: () => number
  /** The settings of features. A missing setting has its default. */
  readonly settings?: Parameters<typeof FEATURES.create>[1]
}

export type Services = ReturnType<typeof createServices>

/** Creates all features. `createApp` makes the app that serves them, and `closeServices` ends them. */
export function createServices({
  store,
  authenticate,
  corsOrigins,
  now = Date.now,
  settings,
  ...given
}: ServiceParts) {
  const signals = {
    filesChanged: new Signal(),
    filesNews: new Signal(),
    filesRead: new Signal<LayerRead>(),
    written: new Signal(),
  }
  const documents = given.governance.documents(now)
  const parts = { ...given, openStore: store, documents, now, signals, log: redactedLog(given.log) }
  return { ...FEATURES.create(parts, settings), authenticate, corsOrigins }
}

/**
 * The app with all routes. It is the same for all hosts, but a Cloud Function serves only one family of routes, which `direct`
 * names.
 */
export function createApp(services: Services & Partial<ServedParts>, direct?: Family): RequestListener {
  return serveRoutes(FEATURES.table(services), services, direct)
}

export async function closeServices(services: Services): Promise<void> {
  await FEATURES.close(services)
  const { runner, compilers, argumentValidator, logs, governance, store } = services
  for (const part of [runner, compilers, argumentValidator, logs, governance, store]) await part.close()
}
