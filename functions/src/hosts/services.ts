import type { Authenticate } from '../access/authenticate.ts'
import type { SignJobToken } from '../access/job-token.ts'
import { Catalog } from '../tools/catalog/catalog.ts'
import type { Layer } from '@toolrack/contract'
import type { Envelope } from '../tools/catalog/list-query.ts'
import type { DefinitionStore } from '../tools/definitions/definition-store.ts'
import { DefinitionWriter, storedLayer } from '../tools/definitions/definition-writer.ts'
import { FolderLayer } from '../tools/folder/folder-layer.ts'
import { ModuleFolder } from '../tools/folder/module-folder.ts'
import type { InvocationLogs } from '../calls/pipeline/invocation-logs.ts'
import { Invoker } from '../calls/pipeline/invoker.ts'
import type { SourceOf } from '../calls/pipeline/run-tool.ts'
import type { Runner } from '../tools/modules/runner.ts'
import type { LayerRead, LayerSource, SkippedItem } from '../tools/catalog/layer-source.ts'
import type { Log } from '../log.ts'
import { ModuleReader } from '../tools/modules/module-reader.ts'
import { ModuleWriter } from '../tools/modules/module-writer.ts'
import { ArgumentValidator } from '../tools/schemas/argument-validator.ts'
import { SchemaCompilers } from '../tools/schemas/schema-compilers.ts'

/** Everything that a route may use. */
export type Services = {
  readonly authenticate: Authenticate
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
  readonly argumentValidator: ArgumentValidator
  readonly invoker: Invoker
  readonly logs: InvocationLogs
  readonly writer: DefinitionWriter
  readonly modules: { readonly reader: ModuleReader; readonly writer: ModuleWriter }
  readonly store: DefinitionStore
  readonly runner: Runner
  /** The watched folder of modules, as a part of the file layer; only the embedded server has one. */
  readonly folder?: FolderLayer | undefined
  readonly log: Log
  /** The envelope of a list that asks for none. */
  readonly envelope: Envelope
  /** `workflowName` of items whose runner names none. */
  readonly defaultWorkflow: string
  readonly corsOrigins: readonly string[]
  /** Undefined on a server that has no keys for job tokens. */
  readonly signJobToken?: SignJobToken | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export type ServiceParts = {
  readonly store: (compilers: SchemaCompilers) => DefinitionStore
  readonly files: (compilers: SchemaCompilers) => LayerSource
  /** The path of a folder of modules that joins them in the file layer. */
  readonly toolsFolder?: string | undefined
  readonly runner: Runner
  readonly logs: InvocationLogs
  /** Where the sources of modules are, if not in the store. */
  readonly sourceOf?: SourceOf
  /** How long the platform lets a call last; as long as its definition says, where nobody ends it. */
  readonly deadlineMsMax?: number
  readonly authenticate: Authenticate
  readonly signJobToken?: SignJobToken | undefined
  readonly now?: () => number
  readonly log: Log
  readonly envelope: Envelope
  readonly defaultWorkflow: string
  readonly corsOrigins: readonly string[]
}

/** Joins the parts; the only place that knows all of them. */
export function createServices({ store: storeWith, files, ...parts }: ServiceParts): Services {
  const compilers = new SchemaCompilers({ log: parts.log })
  const store = storeWith(compilers)
  const definitions = files(compilers)
  const { runner, logs, log, toolsFolder, now = Date.now, deadlineMsMax = Infinity } = parts
  const changed = (): void => catalog.markFilesChanged()
  const folder =
    toolsFolder === undefined
      ? undefined
      : new FolderLayer(
          definitions,
          new ModuleFolder({ path: toolsFolder, runner, compiler: compilers.own, log, changed }),
        )
  const catalog: Catalog = new Catalog(
    {
      file: logged(folder ?? definitions, parts.log),
      global: logged(store.layer({ kind: 'global' }), parts.log),
      user: (uid) => logged(store.layer({ kind: 'user', uid }), parts.log),
    },
    { report: (layer, event) => reportLayer(parts.log, layer, event) },
  )
  const reader = new ModuleReader(store)
  const argumentValidator = new ArgumentValidator({ log })
  const { sourceOf = sourceIn(store, folder) } = parts
  return {
    ...parts,
    now,
    store,
    compilers,
    argumentValidator,
    catalog,
    folder,
    invoker: new Invoker({
      catalog,
      validator: argumentValidator,
      runner,
      sourceOf,
      logs,
      log,
      now,
      deadlineMsMax,
    }),
    writer: new DefinitionWriter({ store, catalog, compilers }),
    modules: { reader, writer: new ModuleWriter({ store, reader, catalog, compilers, runner }) },
  }
}

/** Ends what the services have started. */
export async function closeServices({
  compilers,
  argumentValidator,
  logs,
  store,
  runner,
  folder,
}: Services): Promise<void> {
  folder?.folder.close()
  await runner.close()
  await compilers.close()
  await argumentValidator.close()
  await logs.close()
  await store.close()
}

/** The file layer is in no store: its modules are those of the folder. */
function sourceIn(store: DefinitionStore, folder: FolderLayer | undefined): SourceOf {
  return async ({ layer, uid }, sha256) =>
    layer === 'file' ? folder?.source(sha256) : store.source(storedLayer(layer, uid), sha256)
}

function reportLayer(log: Log, layer: Layer, event: { readonly lost: unknown } | 'back'): void {
  if (event === 'back') log.info('layer can be read again', { layer })
  else log.error('layer could not be read', { layer, reason: reasonOf(event.lost) })
}

/** The innermost cause: what the store makes of it says only that it failed. */
function reasonOf(lost: unknown): string {
  if (!(lost instanceof Error)) return 'unknown'
  return lost.cause instanceof Error ? reasonOf(lost.cause) : lost.message
}

/** Tells the log once about each item that is left out. */
function logged(source: LayerSource, log: Log): LayerSource {
  let told = new Set<string>()
  let last: LayerRead['skipped'] | undefined
  return {
    async open() {
      await source.open?.()
    },
    async read(since) {
      const read = await source.read(since)
      if (read.skipped === last) return read
      last = read.skipped
      const now = new Map(read.skipped.map((item) => [JSON.stringify(item), item]))
      for (const [key, item] of now) if (!told.has(key)) log.warn('definition skipped', skippedFields(item))
      told = new Set(now.keys())
      return read
    },
  }
}

function skippedFields({ source, pointer, message }: SkippedItem): { readonly [field: string]: string } {
  return { at: `${source}${pointer && `#${pointer}`}`, message }
}
