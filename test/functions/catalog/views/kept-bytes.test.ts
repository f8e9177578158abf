import { expect, test } from '@jest/globals'
import { dialectRules } from '@toolrack/contract'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { listAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { keptBytes } from '../../../../functions/src/catalog/views/kept-bytes.ts'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ALL } from '../../../support/list-query.ts'

test.each(['', 'short', 'größer 日本語 🙂', 'x'.repeat(100_000)])(
  'kept bytes are the UTF-8 of %j',
  (text) => {
    expect(keptBytes(text).toString()).toBe(text)
  },
)

test('what a server keeps of a list has memory of its own, and keeps no slab of other buffers', () => {
  const view = catalogView({ file: [tool('a'), tool('b')] })
  const [entry] = view.entries()
  if (!entry) throw new Error('there is no tool')
  const kept = {
    list: atOnce(listAnswer(view, ALL, { defaultWorkflow: 'flow' })).body,
    items: atOnce(listAnswer(view, { ...ALL, envelope: 'items' }, { defaultWorkflow: 'flow' })).body,
    fragment: entry.fragment,
    inDialect: new DialectFragments().of(entry, dialectRules('anthropic')),
    text: keptBytes('short'),
  }
  const extra = Object.entries(kept).map(([what, bytes]) => [
    what,
    (bytes?.buffer.byteLength ?? Number.NaN) - (bytes?.length ?? 0),
  ])
  expect(Object.fromEntries(extra)).toEqual({ list: 0, items: 0, fragment: 0, inDialect: 0, text: 0 })
})
