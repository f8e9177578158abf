import { ToolrackError } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { AdmittedDefinition } from '../definitions/admit-definition.ts'
import type { ModuleCheck, Runner } from './runner.ts'
import { LongWork } from '../../loop-turn.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'
import { admitSpec } from './admit-spec.ts'
import type { AdmittedSpec, ModuleIdentity } from './admit-spec.ts'
import { isModuleName } from './module-name.ts'
import { moduleRefusal } from './module-refusal.ts'
import { moduleReport } from './module-report.ts'

/** What the definitions of one module may take together: each is written twice, and a transaction of Firestore holds 10 MB. */
export const MODULE_DEFINITIONS_BYTES_MAX = 2 * 1024 * 1024

/** A module that is taken, wherever it comes from. */
export type AdmittedModule = ModuleIdentity & {
  readonly source: string
  readonly specs: readonly AdmittedSpec[]
  /** The definitions that its accepted specs have become; at least one. */
  readonly tools: readonly AdmittedDefinition[]
  readonly report: JsonObject
}

type Parts = {
  readonly runner: Runner
  readonly compiler: SchemaCompiler
  /** Asked before each spec with how many are done, of how many; what it throws ends the rest. */
  readonly goOn?: (checked: number, all: number) => void
}

/**
 * Has the runner check a file and admits its specs, one after another, so that one module is one of those that wait for a
 * check. Rejects with MODULE_INVALID and every reason, else as `Runner.check`, `SchemaCompiler.compile` and `goOn` do.
 */
export async function admitModule(
  { name, source, tenant }: ModuleCheck,
  { runner, compiler, goOn }: Parts,
): Promise<AdmittedModule> {
  const sha256 = createHash('sha256').update(source).digest('hex')
  const checked = await runner.check({ name, source, tenant })
  const specs: AdmittedSpec[] = []
  const admitting = new LongWork()
  for (const spec of checked.specs) {
    goOn?.(specs.length, checked.specs.length)
    // Those that are refused before they are compiled wait for nothing.
    if (admitting.isLong) await admitting.giveTurn()
    specs.push(await admitSpec(spec, { name, sha256 }, compiler))
  }
  const refused = moduleRefusal(checked, specs)
  if (refused) throw refused
  if (!isModuleName(name)) throw new ToolrackError('MODULE_INVALID', 'No module can have this name.')
  const tools = specs.flatMap(({ admitted }) => admitted ?? [])
  refuseOversize(name, tools)
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source)
  return { name, sha256, source: text, specs, tools, report: moduleReport(checked, specs) }
}

function refuseOversize(name: string, tools: readonly AdmittedDefinition[]): void {
  const bytes = tools.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  if (bytes <= MODULE_DEFINITIONS_BYTES_MAX) return
  const [size, most] = [bytes, MODULE_DEFINITIONS_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  const message = `${name}.py: its definitions take ${size} bytes together and may take ${most}. Split the module.`
  const fault = { reason: 'MODULE_INVALID', kind: 'definitions_too_large', message } as const
  throw new ToolrackError('MODULE_INVALID', message, { details: [fault] })
}
