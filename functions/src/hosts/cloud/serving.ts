import type { RequestListener } from 'node:http'
import { createApp } from '../services.ts'
import type { Family } from '../../http/route.ts'
import { isProduction, logNotices, readConfig, type ConfigReport } from '../config.ts'
import { checkNode } from './check-node.ts'
import { cloudLog } from './log.ts'
import { cloudServices } from './services.ts'

export type Handler = (...request: Parameters<RequestListener>) => void

/**
 * Makes the request handler of one function. Before the first request, it opens and reads nothing. Only in production, it checks
 * the environment at once. If the environment is bad, the deployment then fails, and not each request.
 */
export function serving(family: Family): Handler {
  checkNode()
  if (isProduction()) readCloudConfig().config()
  let app: RequestListener | undefined
  return function serve(req, res) {
    app ??= open(family)
    app(req, res)
  }
}

/** Creates the app. The layers are read while the first token is verified, because both tasks take long in a new instance. */
function open(family: Family): RequestListener {
  const report = readCloudConfig()
  logNotices(report, cloudLog)
  const services = cloudServices(report.config(), cloudLog)
  services.loopWatch.start()
  void services.catalog.load()
  return createApp(services, family)
}

/** The configuration without HOST and PORT, because the platform chooses the address and the port of a function. */
function readCloudConfig(): ConfigReport {
  const store = { TOOLRACK_STORE: 'firestore', TOOLRACK_AUTH: 'firebase' }
  return readConfig({ ...process.env, HOST: '', PORT: '', ...store })
}
