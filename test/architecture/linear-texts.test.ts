import { expect, test } from '@jest/globals'
import { RuleTester } from 'oxlint/plugins-dev'
import { readFileSync } from 'node:fs'
import plugin from '../../scripts/lint/linear-texts.mjs'
import { readSource, ROOT } from '../support/source-tree.ts'
import { BOUNDED } from '../support/stranger-texts/bounded.ts'
import { COMPARING } from '../support/stranger-texts/comparing.ts'
import { COUNTED } from '../support/stranger-texts/counted.ts'
import { EXCEPTED } from '../support/stranger-texts/excepted.ts'
import { READING } from '../support/stranger-texts/reading.ts'

const RULE = 'toolrack/linear-texts'

/** The folders and files in which both texts can be those of strangers. `.oxlintrc.json` names them. */
function strangersFolders(): readonly string[] {
  type Override = { readonly files: readonly string[]; readonly rules: Readonly<Record<string, unknown>> }
  const config = readFileSync(new URL('.oxlintrc.json', ROOT), 'utf8')
  const { overrides } = JSON.parse(config) as { readonly overrides: readonly Override[] }
  const named = overrides.filter(({ rules }) => rules[RULE] === 'error').flatMap(({ files }) => files)
  return named.map((glob) => glob.replace('**/*.ts', ''))
}

/** What joins a feature to the service. It gives the texts of requests to the functions that the tables try. */
const JOINS = /\/feature\.ts$|-(?:actions|routes)\.ts$/

const sources = new Map(
  [...readSource('packages/contract/src', 'functions/src')].filter(
    ([path]) => strangersFolders().some((folder) => path.startsWith(folder)) && !JOINS.test(path),
  ),
)

test('the rule is on for the matcher, kinds, rules, scopes, redaction and search', () => {
  expect(strangersFolders()).toEqual([
    'packages/contract/src/kinds/',
    'packages/contract/src/matching/',
    'packages/contract/src/rules/',
    'packages/contract/src/scopes/',
    'packages/contract/src/name-filter.ts',
    'functions/src/redaction/',
    'functions/src/features/audit/',
    'functions/src/features/rules/',
    'functions/src/features/scopes/',
    'functions/src/catalog/search/',
    'functions/src/catalog/schemas/near-miss.ts',
  ])
})

test('every exception of the rule has a reason', () => {
  const exceptions = [...sources].flatMap(([path, text]) =>
    text.split('\n').flatMap((line) => (line.includes('oxlint-disable') ? [`${path}: ${line.trim()}`] : [])),
  )
  expect(exceptions.length).toBeGreaterThan(3)
  expect(
    exceptions.filter((line) => !/ oxlint-disable-next-line \S+ -- [A-Z][^]{10,}\.$/.test(line)),
  ).toEqual([])
})

test('every function that is exported there is tried with bad texts, or is excepted with a reason', () => {
  const exported = [...sources].flatMap(([path, text]) =>
    Array.from(text.matchAll(EXPORT), ([, name = '']) => ({ path, name })),
  )
  const tables = [COUNTED, COMPARING, READING, BOUNDED]
  const isTried = ({ path, name }: (typeof exported)[number]): boolean =>
    tables.some((table) => Object.hasOwn(table[path] ?? {}, name)) ||
    [path, `${path} ${name}`].some((one) => Object.hasOwn(EXCEPTED, one))
  expect(exported.length).toBeGreaterThan(100)
  expect(exported.filter((one) => !isTried(one))).toEqual([])
  // What is no longer exported has no place in the tables.
  const names = new Set(exported.flatMap(({ path, name }) => [path, `${path} ${name}`]))
  const tried = tables.flatMap((table) =>
    Object.entries(table).flatMap(([path, calls]) => Object.keys(calls).map((name) => `${path} ${name}`)),
  )
  expect([...tried, ...Object.keys(EXCEPTED)].filter((one) => !names.has(one))).toEqual([])
})

/** Functions, classes and what is made by a call. Constants in capitals and types are none. */
const EXPORT = /^export (?:async )?(?:function\*?|class|const) ([a-z]\w*|[A-Z]\w*[a-z]\w*)/gm

RuleTester.describe = (_title, work) => work()
RuleTester.it = (title, work) => test(`the rule and the code ${title}`, () => work())

const search = { messageId: 'search' }
const pattern = { messageId: 'pattern' }
new RuleTester().run(RULE, plugin.rules['linear-texts'], {
  valid: [
    "export const has = (text) => text.includes('[redacted]') && text.split(/\\*+/).length > 1",
    "const SIGN = /[:=]/\nexport const parts = (text) => text.replace(SIGN, '').replaceAll(`a${'b'}`, '')",
    "import { REDACTED } from './redacted.ts'\nexport const cut = (text) => text.indexOf(REDACTED)",
    "const KNOWN = ['a', 'b']\nexport const isKnown = (text) => KNOWN.includes(text) || ['c'].length === text.length",
    "export const has = (kind, text) => text.split(kind === 'a' ? /b/ : 'c')",
    "const SOURCE = 'a'\nconst MADE = new RegExp(`${SOURCE}b`, 'g')\nexport const has = (text) => MADE.test(text)",
    'export class Own { #replace(a) { return a } put(a) { return this.#replace(a) } }',
    'export const same = (one, other) => one === other || one.codePointAt(0) === other',
  ],
  invalid: [
    { code: 'export const has = (text, part) => text.includes(part)', errors: [search] },
    { code: 'export const find = (text, part) => text.indexOf(part, 3)', errors: [search] },
    { code: "export const cut = (text, part) => text.replaceAll(part, '')", errors: [search] },
    { code: "export const cut = (text, part) => text['split'](part)", errors: [search] },
    { code: 'export const cut = (text, part) => text?.lastIndexOf(part)', errors: [search] },
    {
      code: 'export const any = (text, parts) => parts.some((part) => text.startsWith(part))',
      errors: [search],
    },
    { code: 'export const cut = (text, part) => text.replace(`${part}a`, "")', errors: [search] },
    { code: 'export function cut(text, PART) { return text.split(PART) }', errors: [search] },
    { code: 'export const has = (text, part) => new RegExp(part).test(text)', errors: [pattern] },
    { code: 'export const has = (text, part) => RegExp(part + "a").exec(text)', errors: [pattern] },
    { code: 'export const has = (text, part) => text.match(new RegExp(part))', errors: [search, pattern] },
    { code: 'export const has = (kind, text, part) => text.search(kind ? /a/ : part)', errors: [search] },
  ],
})
