import { featureStores, type Governance } from './feature-stores.ts'
import { Agents } from '../tools/agents/agents.ts'
import type { AgentFiles } from '../tools/agents/agent-files.ts'
import { Catalog } from '../tools/catalog/catalog.ts'
import type { Principal } from '../access/principal.ts'
import { ChangeFeeds, type Bounds } from '../tools/changes/change-feeds.ts'
import { PastViews, type Narrowed } from '../tools/changes/past-views.ts'
import type { Layer, OwnedRules } from '@toolrack/contract'
import type { EdgeParts } from '../edge/http/serve-routes.ts'
import type { RouteParts } from '../edge/routes/route-parts.ts'
import type { DefinitionStore } from '../tools/definitions/definition-store.ts'
import { DefinitionWriter, storedLayer } from '../tools/definitions/definition-writer.ts'
import { FolderLayers } from '../tools/folder/folder-layers.ts'
import type { FolderNews } from '../tools/folder/folder-news.ts'
import { ModuleFolder } from '../tools/folder/module-folder.ts'
import { redactedLog } from '../calls/audit/redacted-log.ts'
import { checkEdited } from '../calls/approvals/check-edited.ts'
import { FileMarks } from '../calls/approvals/file-marks.ts'
import { showArguments } from '../calls/approvals/show-arguments.ts'
import { Approvals, type Announce } from '../calls/approvals/approvals.ts'
import { operatorRulesReport } from '../calls/rules/report-operator-rules.ts'
import { RuleBook } from '../calls/rules/rule-book.ts'
import { RuleWriter } from '../calls/rules/rule-writer.ts'
import { RuledCatalog } from '../calls/rules/ruled-catalog.ts'
import { Invoker } from '../calls/pipeline/invoker.ts'
import type { RunParts, SourceOf } from '../calls/pipeline/run-tool.ts'
import { simulation } from '../calls/pipeline/simulate.ts'
import type { ShowCall } from '../calls/pipeline/steps.ts'
import { placeOf, type LayerRead, type LayerSource } from '../tools/catalog/layer-source.ts'
import type { Log } from '../log.ts'
import { LoopWatch } from '../loop-watch.ts'
import { ModuleReader } from '../tools/modules/module-reader.ts'
import { ModuleWriter } from '../tools/modules/module-writer.ts'
import { StoredScopes } from '../tools/scopes/stored-scopes.ts'
import { ArgumentValidator } from '../tools/schemas/argument-validator.ts'
import { UsageRanks } from '../tools/usage/usage-ranks.ts'
import { ToolSearch } from '../tools/search/tool-search.ts'
import { Sessions } from '../tools/sessions/sessions.ts'
import { SessionWriter } from '../tools/sessions/session-writer.ts'
import { SchemaCompilers } from '../tools/schemas/schema-compilers.ts'

type HostParts =
  | 'isBehindBuffer'
  | 'envelope'
  | 'itemNames'
  | 'defaultWorkflow'
  | 'invokeWorkflow'
  | 'runner'
  | 'logs'
  | 'signJobToken'

/** The parts that differ between hosts, and between hosts and tests. */
export type ServiceParts = Pick<RouteParts, HostParts> &
  Omit<EdgeParts, 'bodies' | 'unread'> & {
    readonly store: (compilers: SchemaCompilers) => DefinitionStore
    readonly files: (compilers: SchemaCompilers) => LayerSource
    readonly governance: Governance
    /** The agents in files. */
    readonly agentFiles?: AgentFiles
    /** Tells the operator about new approvals. */
    readonly webhook?: { readonly announce: Announce; close(): void } | undefined
    /** The operator's rules for everybody. */
    readonly operatorRules?: OwnedRules | undefined
    /** The paths of watched folders of modules, which are part of the file layer. Only the embedded server has such folders. */
    readonly toolsFolders?: readonly string[]
    /** Replaces the lookup of sources in the store and the folder. */
    readonly sourceOf?: SourceOf
    /** Shows each call to the operator. Only the embedded server has a terminal. */
    readonly showCall?: ShowCall | undefined
    /** Shows the operator what has happened to a file of the folder. By default, the log says it. */
    readonly showModule?: ((news: FolderNews) => void) | undefined
    /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
    readonly deadlineMsMax?: number
    /** How many change feeds may be open. */
    readonly feedBounds?: Bounds
    /** The limits of a call whose definition has none. */
    readonly callLimits?: RunParts['callLimits']
    readonly now?: RouteParts['now']
  }

export type Services = ReturnType<typeof createServices>

export function createServices({ store: storeWith, files, ...given }: ServiceParts) {
  const parts = { ...given, log: redactedLog(given.log) }
  const { runner, logs, audit, log, showCall, toolsFolders = [] } = parts
  const { now = Date.now, deadlineMsMax = Infinity, callLimits } = parts
  const stores = featureStores(parts.governance, now)
  const compilers = new SchemaCompilers({ log })
  const store = storeWith(compilers)
  const definitions = logged(files(compilers), log)
  const showModule = parts.showModule ?? ((news: FolderNews) => logModule(log, news))
  const changed = (): void => {
    catalog.markWritten({ kind: 'file' })
    // The operator reads of the change now, and not with the next list.
    folder?.look()
  }
  const modules = { runner, compiler: compilers.own, log, changed }
  const watched = toolsFolders.map((path) => new ModuleFolder({ path, ...modules }))
  const tellNews = (news: FolderNews): void => {
    showModule(news)
    // What was answered for always about a changed module ends now, and not with the next list.
    void catalog.shared()
  }
  const folder = watched.length === 0 ? undefined : new FolderLayers(definitions, watched, tellNews)
  const fileMarks = new FileMarks({
    store: stores.rules,
    operator: parts.operatorRules,
    isComplete: () => folder?.isComplete ?? true,
    log,
  })
  const catalog: Catalog = new Catalog(
    {
      file: seenBy(fileMarks, folder ?? definitions),
      global: logged(store.layer({ kind: 'global' }), log),
      user: (uid) => logged(store.layer({ kind: 'user', uid }), log),
    },
    { report: (layer, event) => reportLayer(log, layer, event), written: () => feeds.wake() },
  )
  const reader = new ModuleReader(store)
  const argumentValidator = new ArgumentValidator({ log })
  const { sourceOf = sourceIn(store, folder) } = parts
  const validator = argumentValidator
  const approvals = new Approvals({
    store: stores.approvals,
    now,
    announce: parts.webhook?.announce,
    sealing: parts.governance.sealing,
  })
  const ruleBook = new RuleBook({
    store: stores.rules,
    agents: stores.agents,
    log,
    operator: parts.operatorRules,
    written: () => feeds.wake(),
  })
  const listed = new RuledCatalog(catalog, ruleBook)
  const search = new ToolSearch()
  const sessions = new Sessions({ store: stores.sessions, log, now })
  const views = new PastViews<Principal & Narrowed>({
    catalog,
    store,
    rulesFor: (caller, session) => ruleBook.forList(caller, session),
  })
  const feeds: ChangeFeeds<Principal & Narrowed> = new ChangeFeeds({ views, now, bounds: parts.feedBounds })
  const calls = {
    catalog: listed,
    search,
    sessions,
    ruleBook,
    keys: stores.keys,
    sealing: parts.governance.sealing,
    approvals,
    fileMarks,
    validator,
    runner,
    sourceOf,
    logs,
    audit,
    log,
    showCall,
    now,
    deadlineMsMax,
    callLimits,
  }
  return {
    ...parts,
    now,
    loopWatch: new LoopWatch({ log, now }),
    store,
    compilers,
    argumentValidator,
    catalog,
    listed,
    search,
    changes: { feeds, views },
    ruleBook,
    usageRanks: new UsageRanks({
      store: stores.usage,
      calls: (uid, since, limit) => logs.page(uid, { since, limit }),
      now,
      log,
    }),
    reportOperatorRules: operatorRulesReport(parts.operatorRules, log),
    ruleWriter: new RuleWriter({ store: stores.rules, book: ruleBook, now }),
    scopes: new StoredScopes({ documents: stores.documents, now, written: () => feeds.wake() }),
    folder,
    sessions,
    sessionStore: stores.sessions,
    sessionWriter: new SessionWriter({ store: stores.sessions, sessions, now, changed: () => feeds.wake() }),
    approvals,
    fileMarks,
    agents: new Agents({
      store: stores.agents,
      files: loggedAgents(parts.agentFiles ?? NO_AGENT_FILES, log),
      now,
      relinked: (uid, sessionId) => ruleBook.linked(uid, sessionId),
    }),
    checkEdited: checkEdited(calls),
    showArguments: showArguments(calls),
    invoker: new Invoker(calls),
    simulate: simulation(calls),
    writer: new DefinitionWriter({ store, catalog, compilers }),
    modules: { reader, writer: new ModuleWriter({ store, reader, catalog, compilers, runner }) },
  }
}

export async function closeServices(services: Services): Promise<void> {
  const { compilers, argumentValidator, logs, audit, store, runner, folder, governance, webhook } = services
  services.loopWatch.close()
  services.changes.feeds.close()
  folder?.close()
  webhook?.close()
  await services.fileMarks.compare()
  await audit?.close()
  for (const part of [runner, compilers, argumentValidator, logs, governance, store]) await part.close()
}

/** Finds the source of a module. The file layer is not in a store, so the sources of its modules come from the folder. */
function sourceIn(store: DefinitionStore, folder: FolderLayers | undefined): SourceOf {
  return async ({ layer, uid }, sha256) =>
    layer === 'file' ? folder?.source(sha256) : store.source(storedLayer(layer, uid), sha256)
}

function reportLayer(log: Log, layer: Layer, event: { readonly lost: unknown } | 'back'): void {
  if (event === 'back') log.info('layer can be read again', { layer })
  else log.error('layer could not be read', { layer, reason: reasonOf(event.lost) })
}

/** The message of the innermost cause. The errors around it only say that the store failed. */
function reasonOf(lost: unknown): string {
  if (!(lost instanceof Error)) return 'unknown'
  return lost.cause instanceof Error ? reasonOf(lost.cause) : lost.message
}

function logModule(log: Log, { kind, ...news }: FolderNews): void {
  if ('faults' in news && news.faults.length > 0) log.warn(`module ${kind}, with faults`, news)
  else log.info(`module ${kind}`, { file: news.file, ...('tools' in news && { tools: news.tools }) })
}

const NO_AGENT_FILES: AgentFiles = {
  read: () => Promise.resolve({ agents: new Map(), skipped: [] }),
}

/** Returns the files of agents, and logs each fault in them once. */
function loggedAgents(files: AgentFiles, log: Log): AgentFiles {
  let known = new Set<string>()
  return {
    async read() {
      const read = await files.read()
      const skipped = new Map(read.skipped.map((item) => [JSON.stringify(item), item]))
      for (const [key, item] of skipped)
        if (!known.has(key)) log.warn('agent skipped', { at: placeOf(item), message: item.message })
      known = new Set(skipped.keys())
      return read
    },
  }
}

/** Returns a source whose reads the marks see. */
function seenBy(marks: FileMarks, source: LayerSource): LayerSource {
  return {
    async open() {
      await source.open?.()
    },
    async read(since) {
      const read = await source.read(since)
      marks.sees(read)
      return read
    },
  }
}

/** Returns a source that logs each skipped item once. */
function logged(source: LayerSource, log: Log): LayerSource {
  let known = new Set<string>()
  let last: LayerRead['skipped'] | undefined
  return {
    async open() {
      await source.open?.()
    },
    async read(since) {
      const read = await source.read(since)
      if (read.skipped === last) return read
      last = read.skipped
      const skipped = new Map(read.skipped.map((item) => [JSON.stringify(item), item]))
      for (const [key, item] of skipped) {
        if (known.has(key)) continue
        // The source `*.json` stands for the whole folder.
        const what = item.source.startsWith('*') ? 'folder of definitions has a fault' : 'definition skipped'
        log.warn(what, { at: placeOf(item), message: item.message })
      }
      known = new Set(skipped.keys())
      return read
    },
  }
}
