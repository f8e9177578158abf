import type { JsonObject } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { CallEvent, Invocation } from '../../../calls/call.ts'
import { Invoker } from '../../../calls/pipeline/invoker.ts'
import { parseCallRequest } from '../../../calls/pipeline/parse-call-request.ts'
import type { FeatureSteps } from '../../../calls/pipeline/steps.ts'
import { EMPTY_BOOK } from '../../../features/rules/rules-in-force.ts'
import { authoriseCall } from '../../../features/rules/authorise.ts'
import { loadSecrets } from '../../../features/secrets/load-secrets.ts'
import { Catalog } from '../../../catalog/views/catalog.ts'
import type { LayerSource, StoredDefinition } from '../../../catalog/views/layer-source.ts'
import type { AdmittedModule } from '../../../catalog/definitions/admit-module.ts'
import { contentOf, mainFile } from '../../../catalog/definitions/module-content.ts'
import type { ArgumentFile, Runner } from '../../../catalog/definitions/runner.ts'
import { ArgumentValidator } from '../../../catalog/schemas/argument-validator.ts'
import { StoredSecrets } from '../../../redaction/stored-secrets.ts'
import { AUTHOR } from './check-module.ts'
import type { AuthorSession } from './author-session.ts'

export type ToolCallRequest = {
  readonly name: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  /** The files for arguments that take an artifact. */
  readonly attached?: readonly ArgumentFile[]
  /** The values of the secrets that the tool names. */
  readonly secrets: ReadonlyMap<string, string>
  /** The deadline of the call, which replaces the deadline in the spec. */
  readonly deadlineMs: number | undefined
  readonly listen?: (event: CallEvent) => void
}

/** Calls a tool of a checked module. The call takes the same steps as a call of the service. Never rejects. */
export async function callTool(
  { runner, log, callLimits }: Pick<AuthorSession, 'runner' | 'log' | 'callLimits'>,
  module: AdmittedModule,
  { deadlineMs, secrets, attached, listen, ...request }: ToolCallRequest,
): Promise<Invocation> {
  const validator = new ArgumentValidator({ log })
  const invoker = new Invoker({
    catalog: catalogOf(module),
    steps: stepsWith(secrets, attached),
    validator,
    runner: withDeadline(runner, deadlineMs),
    sourceOf: () => Promise.resolve({ ...contentOf(module), lock: module.lock }),
    logs: { keep: () => Promise.resolve() },
    log,
    now: Date.now,
    deadlineMsMax: Infinity,
    callLimits,
  })
  try {
    return await invoker.invoke({
      principal: { kind: 'user', uid: AUTHOR, isAdmin: true },
      read: () => parseCallRequest(request),
      signal: new AbortController().signal,
      ...(listen && { listen }),
    })
  } finally {
    await validator.close()
  }
}

/**
 * The steps that features add to a call. The secrets and the files come from the command. A call from the terminal is no dry
 * run, and has no rules, approval or idempotency key.
 */
function stepsWith(
  secrets: ReadonlyMap<string, string>,
  attached: readonly ArgumentFile[] = [],
): FeatureSteps {
  const given = { values: Object.fromEntries(secrets), stored: new StoredSecrets(secrets.values()) }
  return {
    'load the secrets': loadSecrets(() => (secrets.size > 0 ? Promise.resolve(given) : undefined)),
    'take edited arguments': (call, next) => next(call),
    'authorise the call': authoriseCall({ ruleBook: EMPTY_BOOK }),
    'end a dry run': (call, next) => next(call),
    'run at most once': (call, next) => next(call),
    'await the approval': (call, next) => next(call),
    'keep the content': (call, next) => next(attached.length > 0 ? { ...call, attached } : call),
  }
}

function withDeadline(runner: Runner, deadlineMs: number | undefined): Pick<Runner, 'invoke'> {
  return { invoke: (call) => runner.invoke(deadlineMs === undefined ? call : { ...call, deadlineMs }) }
}

/** A catalog that contains only the tools of the module. */
function catalogOf(module: AdmittedModule): Catalog {
  const source = mainFile(module.name, module)
  const definitions = module.tools.map(({ definition, text, digest }): StoredDefinition => {
    const revision = createHash('sha256').update(text).digest('hex').slice(0, 12)
    return { name: definition.function.name, text, digest, revision, source }
  })
  const empty = layerOf([])
  const sources = { file: layerOf(definitions), global: empty, user: () => empty }
  return new Catalog(sources, { report: () => undefined })
}

function layerOf(definitions: readonly StoredDefinition[]): LayerSource {
  const read = { revision: 'only', whole: true, definitions, deleted: [], skipped: [] }
  return { read: () => Promise.resolve(read) }
}
