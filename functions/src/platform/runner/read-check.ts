import { ERROR_CODES, isJsonObject, type ErrorCode } from '@toolrack/contract'
import type {
  AcceptedSpec,
  CheckedSpec,
  CheckReport,
  ModuleFault,
  ModuleNote,
} from '../../tools/modules/check-report.ts'

type Test<T> = (value: unknown) => value is T

const isText: Test<string> = (value) => typeof value === 'string'
const isNumber: Test<number> = (value) => typeof value === 'number'
const isNull: Test<null> = (value) => value === null
const isMissing: Test<undefined> = (value) => value === undefined
const isCode: Test<ErrorCode> = (value): value is ErrorCode =>
  isText(value) && Object.hasOwn(ERROR_CODES, value)

const isNote = object<ModuleNote>({ kind: isText, message: isText, line: either(isNumber, isMissing) })

const isFault = object<Omit<ModuleFault, 'pointer'>>({
  kind: isText,
  message: isText,
  line: either(isNumber, isMissing),
  code: isCode,
  traceback: either(isText, isMissing),
})

const ANY_SPEC = {
  line: either(isNumber, isNull),
  faults: listOf(isFault),
  notes: listOf(isNote),
  examples: listOf(isJsonObject),
}

const isSpec: Test<CheckedSpec> = either(
  object<AcceptedSpec>({
    ...ANY_SPEC,
    accepted: (value) => value === true,
    name: isText,
    description: isText,
    parameters: isJsonObject,
    derived: listOf(isText),
    annotations: either(isJsonObject, isNull),
    timeoutSeconds: either(isNumber, isNull),
    secrets: listOf(isText),
    network: listOf(isText),
  }),
  object({ ...ANY_SPEC, accepted: (value): value is false => value === false, name: either(isText, isNull) }),
)

/** True if the value is a report. Other keys are allowed, because a newer runner may send more keys. */
export const isCheckReport: Test<CheckReport> = object({
  faults: listOf(isFault),
  notes: listOf(isNote),
  imports: listOf(isText),
  missingImports: listOf(isText),
  tools: listOf(isSpec),
  log: object({ text: isText }),
})

function object<T extends object>(fields: { readonly [K in keyof Required<T>]: Test<T[K]> }): Test<T> {
  const tests = Object.entries<Test<unknown>>(fields)
  return (value): value is T => isJsonObject(value) && tests.every(([key, test]) => test(value[key]))
}

function listOf<T>(test: Test<T>): Test<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((item) => test(item))
}

function either<A, B>(one: Test<A>, other: Test<B>): Test<A | B> {
  return (value): value is A | B => one(value) || other(value)
}
