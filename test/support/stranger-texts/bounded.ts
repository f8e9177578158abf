import { canonicalDecimal } from '../../../packages/contract/src/kinds/decimal-text.ts'
import { groupScope, parseScope } from '../../../packages/contract/src/scopes/parse-scope.ts'
import { parseScopeCommand } from '../../../packages/contract/src/scopes/scope-command.ts'
import { indexedTool } from '../../../functions/src/catalog/search/indexed-tool.ts'
import { readQuery } from '../../../functions/src/catalog/search/read-query.ts'
import { termsOf } from '../../../functions/src/catalog/search/words.ts'
import { nearMiss } from '../../../functions/src/catalog/schemas/near-miss.ts'
import type { Calls } from './calls.ts'

const SCOPES = 'packages/contract/src/scopes/'
const SEARCH = 'functions/src/catalog/search/'

/** Functions that bound the length of a text first. Each tells that it does nothing with a text of one unit more. */
export const BOUNDED: Calls<{ readonly max: number; readonly refuses: (text: string) => boolean }> = {
  'packages/contract/src/kinds/decimal-text.ts': {
    canonicalDecimal: { max: 4_096, refuses: (text) => canonicalDecimal(text) === 'unclear' },
  },
  [`${SCOPES}parse-scope.ts`]: {
    parseScope: { max: 1_000, refuses: (text) => 'fault' in parseScope(text) },
    groupScope: { max: 64, refuses: (text) => 'fault' in groupScope(text) },
  },
  [`${SCOPES}scope-command.ts`]: {
    parseScopeCommand: { max: 200, refuses: (text) => 'fault' in parseScopeCommand(text) },
  },
  'functions/src/catalog/schemas/near-miss.ts': {
    nearMiss: { max: 64, refuses: (text) => nearMiss(text, [text]) === undefined },
  },
  [`${SEARCH}read-query.ts`]: {
    readQuery: {
      max: 1_000,
      refuses: (text) =>
        JSON.stringify(readQuery(text)) ===
        JSON.stringify(readQuery(`${text.slice(0, 500)} ${text.slice(-500)}`)),
    },
  },
  [`${SEARCH}stem.ts`]: {
    // Only `termsOf` calls it.
    stem: { max: 40, refuses: (text) => termsOf([text]).join() === termsOf([text.slice(0, 40)]).join() },
  },
  [`${SEARCH}indexed-tool.ts`]: {
    indexedTool: {
      max: 10_000,
      refuses: (text) =>
        JSON.stringify([...indexed(text)]) === JSON.stringify([...indexed(text.slice(0, 10_000))]),
    },
  },
}

function indexed(description: string) {
  const text = JSON.stringify({ function: { name: 'a', description, parameters: {} } })
  return indexedTool({ name: 'a', tags: [], category: undefined, stored: { text } } as unknown as Parameters<
    typeof indexedTool
  >[0]).terms
}
