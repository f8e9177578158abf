import type { JsonObject } from '@toolrack/contract'
import { parseNameEntry, parseNameFilter } from '../../../packages/contract/src/name-filter.ts'
import { ARGUMENT_KINDS } from '../../../packages/contract/src/kinds/argument-kind.ts'
import { hasDoubt, readValue } from '../../../packages/contract/src/rules/argument-text.ts'
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

const RULES = 'packages/contract/src/rules/'
const AUDIT = 'functions/src/features/audit/'
const REDACTION = 'functions/src/redaction/'
const SEARCH = 'functions/src/catalog/search/'

/** Functions that read one text of any length. */
export const READING: Calls<(text: string) => unknown> = {
  [`${RULES}argument-text.ts`]: {
    readValue: (text) => ARGUMENT_KINDS.map((kind) => readValue(text, [{ kind }])),
    hasDoubt: (text) => ARGUMENT_KINDS.map((kind) => hasDoubt(text, kind)),
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
    toolFacts: (text) => toolFacts(text, splitWords(text), splitWords(text), { numbers: 0, date: false }),
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
