import {
  grantsOf,
  sortedGrants,
  ToolrackError,
  type ErrorDetail,
  type Grant,
  type JsonObject,
} from '@toolrack/contract'
import type { AdmittedDefinition } from './admit-definition.ts'
import type { ModuleCheck, Runner } from './runner.ts'
import { Turns } from '../../loop-turn.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'
import { admitSpec, type AdmittedSpec, type ModuleIdentity } from './admit-spec.ts'
import { contentSha256, mapContent, mainFile, type ModuleContent } from './module-content.ts'
import { refuseLargeFiles } from './module-files.ts'
import { isModuleName } from './module-reader.ts'
import { lockText, type PackageLock } from './package-lock.ts'
import { moduleReport } from './module-report.ts'
import type { CheckReport, ModuleFault } from './check-report.ts'

/** The most bytes of all definitions of one module. Each is written twice, and a Firestore transaction may have 10 MB. */
export const MODULE_DEFINITIONS_BYTES_MAX = 2 * 1024 * 1024

/** A module that was checked by the runner, and whose specs were admitted. */
export type AdmittedModule = ModuleIdentity &
  ModuleContent & {
    readonly specs: readonly AdmittedSpec[]
    /** The definitions of the accepted specs. There is at least one. */
    readonly tools: readonly AdmittedDefinition[]
    readonly report: JsonObject
    /** What the module asks for: the grants of all of its tools. */
    readonly grants: readonly Grant[]
  }

type Parts = {
  readonly runner: Pick<Runner, 'check'>
  readonly compiler: SchemaCompiler
  /** Called before each spec, with the number of specs admitted so far and of all specs. If it throws, the admission ends. */
  readonly goOn?: (checked: number, all: number) => void
}

/**
 * Checks a module in the runner, and then admits its specs one after another. So a module takes only one place in the queue for
 * the schema compilers. Rejects with MODULE_INVALID or PACKAGES_REFUSED and all faults, or with the errors of `Runner.check`,
 * `SchemaCompiler.compile` and `goOn`.
 */
export async function admitModule(
  { name, tenant, lock, onProgress, signal, ...content }: ModuleCheck,
  { runner, compiler, goOn }: Parts,
): Promise<AdmittedModule> {
  if (content.files) refuseLargeFiles(name, content.files)
  const sha256 = contentSha256(content)
  const checked = await runner.check({ name, ...content, tenant, lock, onProgress, signal })
  const file = mainFile(name, content)
  const specs: AdmittedSpec[] = []
  const turns = new Turns(signal)
  for (const spec of checked.tools) {
    goOn?.(specs.length, checked.tools.length)
    // Lets other requests run. A spec that is refused before its schema is compiled waits for nothing else, so many such specs
    // would block the event loop.
    if (turns.isDue) await turns.give()
    specs.push(await admitSpec(spec, { name, file, sha256, lock: checked.packages }, compiler))
  }
  const tools = specs.flatMap(({ admitted }) => admitted ?? [])
  refuseFaults(checked, specs)
  if (checked.packages) refuseLongLock(checked.packages)
  if (!isModuleName(name)) throw new ToolrackError('MODULE_INVALID', 'No module can have this name.')
  refuseOversize(file, tools)
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const text = mapContent(content, (bytes) => utf8.decode(bytes))
  const report = moduleReport(checked, specs)
  const grants = sortedGrants(tools.flatMap(({ definition }) => grantsOf(definition.runner)))
  const module = { name, sha256, ...(checked.packages && { lock: checked.packages }) }
  return { ...module, ...text, specs, tools, report, grants }
}

/** Converts a fault to a detail of an error. `name` is the name of the spec, if the fault belongs to one. */
export function faultDetail({ code, ...fault }: ModuleFault, name?: string | null): ErrorDetail {
  return { reason: code, ...(name !== undefined && { name }), ...fault }
}

/** Throws if the whole module has a fault, needs a package that is not installed, or has no accepted tool. */
function refuseFaults(checked: CheckReport, specs: readonly AdmittedSpec[]): void {
  const ofModule = [...faultsOfModule(checked), ...untoldImports(checked)]
  if (ofModule.length === 0 && specs.some(({ admitted }) => admitted)) return
  const ofSpecs = specs.flatMap(({ spec, faults }) => faults.map((fault) => faultDetail(fault, spec.name)))
  const details = ofModule.length > 0 ? ofModule : ofSpecs
  const [first] = details
  const more = details.length > 1 ? ` (and ${details.length - 1} more, see details)` : ''
  const sentence = typeof first?.['message'] === 'string' ? first['message'] : 'The module has no tool.'
  const isOfPackages = details.length > 0 && details.every(({ reason }) => reason === 'PACKAGES_REFUSED')
  throw new ToolrackError(isOfPackages ? 'PACKAGES_REFUSED' : 'MODULE_INVALID', `${sentence}${more}`, {
    details,
  })
}

/** The most bytes of a lock, which is about 1,000 packages. It is sent with a module in a request of at most 4 MB. */
const LOCK_BYTES_MAX = 256 * 1024

function refuseLongLock(lock: PackageLock): void {
  if (Buffer.byteLength(lockText(lock)) <= LOCK_BYTES_MAX) return
  const count = lock.packages.length.toLocaleString('en-US')
  const message = `The module needs ${count} packages, and their lock is longer than ${LOCK_BYTES_MAX / 1024} KB. Ask for fewer.`
  const fault = { reason: 'PACKAGES_REFUSED', kind: 'lock_too_large', message } as const
  throw new ToolrackError('PACKAGES_REFUSED', message, { details: [fault] })
}

/** The faults of the whole module, as details of an error. A detail about a missing package has its name as `import`. */
function faultsOfModule({ faults, missingImports }: CheckReport): ErrorDetail[] {
  return faults.map((fault) => {
    const missing = missingImports.find((name) => namesMissing(fault, name))
    return { ...faultDetail(fault), ...(missing !== undefined && { import: missing }) }
  })
}

function namesMissing({ kind, message }: ModuleFault, name: string): boolean {
  return kind === 'import_not_installed' && message.includes(`'${name}'`)
}

/**
 * Details for the missing packages that no fault names. Such a package is imported only inside a function, so the import would
 * fail later, during a call.
 */
function untoldImports({ missingImports, faults, notes }: CheckReport): ErrorDetail[] {
  const sentences = notes.filter(({ kind }) => kind === 'import_unavailable')
  const untold = missingImports.filter((name) => !faults.some((fault) => namesMissing(fault, name)))
  return untold.map((name) => {
    const note = sentences.find(({ message }) => message.includes(`'${name}'`))
    const message = note?.message ?? `'${name}' is not installed here.`
    return { reason: 'MODULE_BROKEN', kind: 'import_not_installed', import: name, message, line: note?.line }
  })
}

function refuseOversize(file: string, tools: readonly AdmittedDefinition[]): void {
  const bytes = tools.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  if (bytes <= MODULE_DEFINITIONS_BYTES_MAX) return
  const [size, most] = [bytes, MODULE_DEFINITIONS_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  const message = `${file}: its definitions take ${size} bytes together and may take ${most}. Split the module.`
  const fault = { reason: 'MODULE_INVALID', kind: 'definitions_too_large', message } as const
  throw new ToolrackError('MODULE_INVALID', message, { details: [fault] })
}
