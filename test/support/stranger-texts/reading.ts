import { GRANT_KINDS, type JsonObject, type ToolRunner } from '@toolrack/contract'
import { parseNameEntry, parseNameFilter } from '../../../packages/contract/src/name-filter.ts'
import { ARGUMENT_KINDS } from '../../../packages/contract/src/kinds/argument-kind.ts'
import { canonicalArguments } from '../../../packages/contract/src/kinds/canonical-arguments.ts'
import { canonicalDateTime, isWithoutZone } from '../../../packages/contract/src/kinds/date-time-text.ts'
import { canonicalDate } from '../../../packages/contract/src/kinds/date-text.ts'
import { normalisedPath } from '../../../packages/contract/src/kinds/path-text.ts'
import { readText } from '../../../packages/contract/src/kinds/read-text.ts'
import { SchemaReader } from '../../../packages/contract/src/kinds/schema-readings.ts'
import { edited, TEXT_EDITS, withoutEdges } from '../../../packages/contract/src/kinds/text-edit.ts'
import { readingsOfName, ToolReadings } from '../../../packages/contract/src/kinds/tool-readings.ts'
import { canonicalUrl } from '../../../packages/contract/src/kinds/url-text.ts'
import { canonicalUuid } from '../../../packages/contract/src/kinds/uuid-text.ts'
import { hasDoubt, readValue } from '../../../packages/contract/src/rules/argument-text.ts'
import { grantUses, hostGlob, packageGlob } from '../../../packages/contract/src/rules/grant-texts.ts'
import { matchesEveryText } from '../../../packages/contract/src/rules/glob.ts'
import { parseRuleSet } from '../../../packages/contract/src/rules/rule-set.ts'
import { askedName } from '../../../functions/src/features/audit/audit-call.ts'
import { isPlace } from '../../../functions/src/features/audit/audit-store.ts'
import {
  withoutCommandSecrets,
  withoutListedSecret,
} from '../../../functions/src/redaction/command-secrets.ts'
import { KnownShapes } from '../../../functions/src/redaction/known-shapes.ts'
import { nameBefore } from '../../../functions/src/redaction/name-before.ts'
import { NamedSecrets } from '../../../functions/src/redaction/named-secrets.ts'
import {
  recordedArguments,
  redact,
  redactText,
  textRedactor,
} from '../../../functions/src/redaction/redact.ts'
import { redactedEvent } from '../../../functions/src/features/audit/redacted-event.ts'
import { redactedLog } from '../../../functions/src/redaction/redacted-log.ts'
import {
  isCountName,
  isLabel,
  isLabelled,
  isSecretName,
} from '../../../functions/src/redaction/secret-names.ts'
import { openValueEnd, valueEnd } from '../../../functions/src/redaction/secret-value.ts'
import { NOT_SENSITIVE } from '../../../functions/src/redaction/sensitive.ts'
import {
  asItIs,
  everySpelling,
  spelledInGroups,
  spellings,
} from '../../../functions/src/redaction/spellings.ts'
import { mayHoldSecret, TextRedactor } from '../../../functions/src/redaction/text-redactor.ts'
import { validTraceparent } from '../../../functions/src/features/audit/traceparent.ts'
import { keyColumn, lastLine, lineAt } from '../../../functions/src/redaction/yaml-lines.ts'
import { parsedRules } from '../../../functions/src/features/rules/check-rules.ts'
import { logOf } from '../../../functions/src/log.ts'
import { namesDay, needsOf, valuesIn } from '../../../functions/src/catalog/search/needs.ts'
import { toolFacts } from '../../../functions/src/catalog/search/twins.ts'
import { Vocabulary } from '../../../functions/src/catalog/search/vocabulary.ts'
import {
  hashOf,
  isNumber,
  isTelling,
  phrasesIn,
  splitWords,
  termsOf,
} from '../../../functions/src/catalog/search/words.ts'
import type { Calls } from './calls.ts'

const KINDS = 'packages/contract/src/kinds/'
const RULES = 'packages/contract/src/rules/'
const AUDIT = 'functions/src/features/audit/'
const REDACTION = 'functions/src/redaction/'
const SEARCH = 'functions/src/catalog/search/'

/** A tool with an argument of each kind, and one of each edit. */
const READ_TOOL = new ToolReadings({
  classes: [],
  parameters: { properties: Object.fromEntries([...ARGUMENT_KINDS, ...TEXT_EDITS].map((one) => [one, {}])) },
  runner: {
    kind: 'python',
    kinds: {
      ...Object.fromEntries(ARGUMENT_KINDS.map((kind) => [kind, [kind]])),
      ...Object.fromEntries(TEXT_EDITS.map((edit) => [edit, [`text:${edit}`]])),
    },
  } as unknown as ToolRunner,
})

/** Functions that read one text of any length. */
export const READING: Calls<(text: string) => unknown> = {
  [`${KINDS}canonical-arguments.ts`]: {
    canonicalArguments: (text) =>
      canonicalArguments(READ_TOOL, Object.fromEntries(Array.from(READ_TOOL.names, (name) => [name, text]))),
  },
  [`${KINDS}date-text.ts`]: { canonicalDate },
  [`${KINDS}date-time-text.ts`]: { canonicalDateTime, isWithoutZone },
  [`${KINDS}path-text.ts`]: { normalisedPath },
  [`${KINDS}read-text.ts`]: {
    readText: (text) => ARGUMENT_KINDS.map((kind) => readText({ kind, edit: 'strip' }, text)),
  },
  [`${KINDS}schema-readings.ts`]: {
    SchemaReader(text) {
      const reader = new SchemaReader({ properties: { [text]: { format: text } }, $ref: text })
      return [reader.factsOf(text), reader.factsOfOthers]
    },
  },
  [`${KINDS}text-edit.ts`]: {
    edited: (text) => TEXT_EDITS.map((edit) => edited(edit, text)),
    withoutEdges: (text) => [/\s/, /[a0]/].map((edge) => withoutEdges(text, edge)),
  },
  [`${KINDS}tool-readings.ts`]: {
    readingsOfName,
    ToolReadings(text) {
      const parameters = { properties: { [text]: { format: text } } }
      const runner = { kind: 'python', kinds: { [text]: [text] } } as unknown as ToolRunner
      return new ToolReadings({ classes: [], parameters, runner }).of(text)
    },
  },
  [`${KINDS}url-text.ts`]: { canonicalUrl },
  [`${KINDS}uuid-text.ts`]: { canonicalUuid },
  [`${RULES}argument-text.ts`]: {
    readValue: (text) => ARGUMENT_KINDS.map((kind) => readValue(text, [{ kind }])),
    hasDoubt: (text) => ARGUMENT_KINDS.map((kind) => hasDoubt(text, kind)),
  },
  [`${RULES}grant-texts.ts`]: {
    grantUses: (text) => GRANT_KINDS.map((kind) => grantUses({ kind, value: text })),
    hostGlob,
    packageGlob,
  },
  [`${RULES}glob.ts`]: { matchesEveryText: (text) => matchesEveryText(text, 'path') },
  [`${RULES}rule-set.ts`]: { parseRuleSet: (text) => parseRuleSet(oneRule(text)) },
  'packages/contract/src/name-filter.ts': {
    parseNameFilter: (text) => parseNameFilter([text]),
    parseNameEntry,
  },
  'functions/src/features/rules/check-rules.ts': {
    parsedRules: (text) => failing(() => parsedRules(oneRule(text))),
  },
  [`${AUDIT}audit-call.ts`]: { askedName },
  [`${AUDIT}audit-store.ts`]: { isPlace },
  [`${AUDIT}traceparent.ts`]: { validTraceparent },
  [`${REDACTION}command-secrets.ts`]: {
    withoutCommandSecrets: (text) => withoutCommandSecrets(text, () => undefined),
    withoutListedSecret: (text) => withoutListedSecret([text, text, '-u', text], 3),
  },
  [`${REDACTION}spellings.ts`]: {
    spellings,
    everySpelling,
    asItIs,
    spelledInGroups: (text) => [...spelledInGroups(text)],
  },
  [`${REDACTION}known-shapes.ts`]: {
    KnownShapes: (text) => [...new KnownShapes(() => undefined).take(text)],
  },
  [`${REDACTION}named-secrets.ts`]: { NamedSecrets: (text) => new NamedSecrets(() => undefined).take(text) },
  [`${REDACTION}name-before.ts`]: {
    nameBefore(text) {
      for (let at = 0; at < text.length; at += 100) nameBefore(text, 0, at)
    },
  },
  [`${REDACTION}secret-value.ts`]: {
    valueEnd: (text) => valueEnd(text, 0),
    openValueEnd: (text) => [
      openValueEnd(text, 0, { kind: 'quotes', quotes: '"""', linesLeft: Infinity }),
      openValueEnd(text, 0, { kind: 'brackets', depth: 1, quote: '', linesLeft: Infinity }),
    ],
  },
  [`${REDACTION}secret-names.ts`]: { isSecretName, isCountName, isLabel, isLabelled },
  [`${REDACTION}yaml-lines.ts`]: {
    lineAt(text) {
      for (let at = 0; at < text.length;) at = lineAt(text, at).next
    },
    keyColumn: (text) => keyColumn('', text, text.length),
    lastLine: (text) => lastLine(text, text),
  },
  [`${REDACTION}text-redactor.ts`]: {
    mayHoldSecret,
    TextRedactor: (text) => new TextRedactor(() => undefined).take(text),
  },
  [`${REDACTION}redact.ts`]: {
    redactText: (text) => redactText(text, () => undefined),
    redact: (text) => redact({ [text]: [text] }),
    recordedArguments: (text) => recordedArguments({ text }, NOT_SENSITIVE),
    textRedactor(text) {
      const redactor = textRedactor()
      // Line by line, as a stream comes.
      for (const line of text.split(/(?<=\n)/)) redactor.take(line)
    },
  },
  [`${AUDIT}redacted-event.ts`]: {
    redactedEvent: (text) =>
      redactedEvent({ kind: 'call', principal: { kind: 'user', uid: text }, outcome: 'ok', session: text }),
  },
  [`${REDACTION}redacted-log.ts`]: {
    redactedLog: (text) => redactedLog(logOf(() => undefined)).info(text, { text }),
  },
  [`${SEARCH}words.ts`]: {
    splitWords,
    termsOf: (text) => termsOf(splitWords(text)),
    isTelling,
    isNumber,
    hashOf,
    phrasesIn: (text) => phrasesIn(splitWords(text)),
  },
  [`${SEARCH}needs.ts`]: {
    needsOf: (text) => needsOf({ properties: { [text]: {} }, required: [text] }),
    valuesIn: (text) => valuesIn(text, splitWords(text)),
    namesDay,
  },
  [`${SEARCH}twins.ts`]: {
    toolFacts(text) {
      const words = splitWords(text)
      return toolFacts(text, words, words, { numbers: 0, date: false })
    },
  },
  [`${SEARCH}vocabulary.ts`]: {
    Vocabulary(text) {
      const terms = new Set(termsOf(splitWords(text)))
      const vocabulary = new Vocabulary(terms)
      for (const term of terms) vocabulary.add(term)
      return vocabulary.nearly([...terms][0] ?? '')
    },
  },
}

function oneRule(text: string): JsonObject {
  return { default: text, rules: [{ effect: 'deny', tool: text, args: { [text]: text }, [text]: 1 }] }
}

function failing(work: () => unknown): void {
  try {
    work()
  } catch {
    // The text is no rule. Only the time counts here.
  }
}
