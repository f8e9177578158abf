import { ERROR_CODES, isJsonObject } from '@toolrack/contract'
import type { ErrorCode, JsonObject, JsonValue } from '@toolrack/contract'
import type {
  CheckedModule,
  CheckedSpec,
  ModuleFault,
  ModuleNote,
  SpecContent,
} from '../../tools/modules/checked-module.ts'

/** From a runner's answer about a module to what the service knows of it; undefined for what no runner says. */
export function readCheck(text: string, asked: { readonly sha256: string }): CheckedModule | undefined {
  try {
    const report = object(JSON.parse(text) as JsonValue)
    return report['sha256'] === asked.sha256 ? checkedModule(report) : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnexpectedError) return undefined
    throw error
  }
}

/** Something is not what a report has in its place. */
class UnexpectedError extends Error {}

function checkedModule(report: JsonObject): CheckedModule {
  return {
    faults: each(report['faults'], fault),
    notes: each(report['notes'], note),
    imports: each(report['imports'], string),
    missingImports: each(report['missingImports'], string),
    specs: each(report['tools'], spec),
    log: string(object(report['log'])['text']),
  }
}

function spec(value: JsonValue | undefined): CheckedSpec {
  const { name, line, accepted, faults, notes, examples, ...content } = object(value)
  return {
    name: orNull(name, string),
    line: orNull(line, number),
    ...(accepted === true && { content: specContent(content) }),
    faults: each(faults, fault),
    notes: each(notes, note),
    examples: each(examples, object),
  }
}

function specContent(value: JsonObject): SpecContent {
  const annotations = orNull(value['annotations'], object)
  const timeoutSeconds = orNull(value['timeoutSeconds'], number)
  return {
    description: string(value['description']),
    parameters: object(value['parameters']),
    derived: each(value['derived'], string),
    ...(annotations && { annotations }),
    ...(timeoutSeconds !== null && { timeoutSeconds }),
    secrets: each(value['secrets'], string),
    network: each(value['network'], string),
  }
}

function fault(value: JsonValue | undefined): ModuleFault {
  const { code, traceback } = object(value)
  return {
    code: errorCode(code),
    ...note(value),
    ...(traceback !== undefined && { traceback: string(traceback) }),
  }
}

function note(value: JsonValue | undefined): ModuleNote {
  const { kind, message, line } = object(value)
  return {
    kind: string(kind),
    message: string(message),
    ...(line !== undefined && line !== null && { line: number(line) }),
  }
}

function errorCode(value: JsonValue | undefined): ErrorCode {
  const code = string(value)
  if (!Object.hasOwn(ERROR_CODES, code)) throw new UnexpectedError()
  return code as ErrorCode
}

function each<T>(value: JsonValue | undefined, read: (item: JsonValue | undefined) => T): readonly T[] {
  if (!Array.isArray(value)) throw new UnexpectedError()
  return (value as readonly JsonValue[]).map((item) => read(item))
}

function orNull<T>(value: JsonValue | undefined, read: (value: JsonValue | undefined) => T): T | null {
  return value === undefined || value === null ? null : read(value)
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new UnexpectedError()
  return value
}

function string(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw new UnexpectedError()
  return value
}

function number(value: JsonValue | undefined): number {
  if (typeof value !== 'number') throw new UnexpectedError()
  return value
}
