import { expect, test } from '@jest/globals'
import { isToolrackError, type Rule, type RuleSet, type ToolDefinition } from '@toolrack/contract'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { checkedRules } from '../../../../functions/src/features/rules/check-rules.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

test('200 rules that match none of many tools are refused with a few suggestions, and other work gets turns', async () => {
  const view = catalogView({ global: Array.from({ length: 2_000 }, (_, at) => tool(`server_tool_${at}`)) })
  const rules = Array.from({ length: 200 }, (_, at): Rule => ({ effect: 'deny', tool: `server_*_tol_${at}` }))
  const { result: error, turns } = await turnsDuring(() =>
    checkedRules({ default: 'allow', rules }, view, new Turns()).catch((thrown: unknown) => thrown),
  )
  expect(isToolrackError(error) && error.code).toBe('RULE_INVALID')
  const details = isToolrackError(error) ? error.details : []
  expect(details).toHaveLength(200)
  expect(details.filter((detail) => 'suggestion' in detail)).toHaveLength(3)
  expect(turns).toBeGreaterThan(5)
})

const MANY = Array.from({ length: 2_000 }, (_, at): ToolDefinition => {
  const names = ['path', 'text', 'id', 'day', 'link', 'amount']
  const formats = ['path', undefined, 'uuid', 'date', 'uri', 'decimal']
  const properties = Object.fromEntries(
    names.map((name, place) => [name, { type: 'string', ...(formats[place] && { format: formats[place] }) }]),
  )
  return { ...tool(`tool_${at}`), function: { ...tool(`tool_${at}`).function, parameters: { properties } } }
})

test('the answer lists 200 tools, and counts the others', async () => {
  const set: RuleSet = {
    default: 'allow',
    rules: [{ effect: 'deny', tool: 'tool_1*', args: { path: 'a//b' } }],
  }
  const checked = await checkedRules(set, catalogView({ global: MANY }), new Turns())
  expect([checked.meets.length, checked.more]).toEqual([200, 911])
  expect(checked.set.rules).toEqual([{ effect: 'deny', tool: 'tool_1*', args: { path: 'a/b' } }])
})

test('of a tool with many arguments those that rules name come first, and the others are counted', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 150 }, (_, at) => [`a${at}`, { type: 'string' }]),
  )
  const one = { ...tool('one'), function: { ...tool('one').function, parameters: { properties } } }
  const set: RuleSet = { default: 'allow', rules: [{ effect: 'deny', tool: 'one', args: { a149: 'x' } }] }
  const { meets } = await checkedRules(set, catalogView({ global: [one] }), new Turns())
  expect(meets).toMatchObject([{ tool: 'one', more: 50 }])
  expect(Object.keys(meets[0]?.args ?? {}).slice(0, 2)).toEqual(['a149', 'a0'])
})

test('200 long rules about 2,000 tools give other work its turns', async () => {
  const view = catalogView({ global: MANY })
  const rules = Array.from({ length: 200 }, (_, at): Rule => {
    const args = {
      path: longGlob(at, '/**/*a*/**'),
      text: longGlob(at, '*'.repeat(100)),
      id: '*'.repeat(30) + '?*a'.repeat(6),
      day: `*${'?*'.repeat(4)}${at % 10}*`,
      link: longGlob(at, '*a*b*c*'),
      amount: `${'?*'.repeat(20)}1*`,
    }
    return { effect: 'deny', tool: `tool_*${at % 10}*`, args }
  })
  const { turns } = await turnsDuring(() => checkedRules({ default: 'allow', rules }, view, new Turns()))
  expect(turns).toBeGreaterThan(50)
})

function longGlob(at: number, rest: string): string {
  return `${'?'.repeat(40)}${at}${rest}`
}

test('the schemas of 2,000 tools are read in turns', async () => {
  const path = { anyOf: [{ type: 'string', format: 'path' }, { type: 'null' }] }
  const properties = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`path${at}`, path]))
  const large = MANY.map((one) => ({ ...one, function: { ...one.function, parameters: { properties } } }))
  const view = catalogView({ global: large })
  const set: RuleSet = { default: 'allow', rules: [{ effect: 'deny', tool: '*', args: { path0: 'a' } }] }
  const { result, turns } = await turnsDuring(() => checkedRules(set, view, new Turns()))
  expect([result.meets.length, result.more]).toEqual([200, 1_800])
  expect(turns).toBeGreaterThan(20)
})

/** A Python tool that asks for these grants. */
function granted(name: string, grants: object): ToolDefinition {
  return { ...tool(name), runner: { kind: 'python', module: name, sha256: '0'.repeat(64), ...grants } }
}

const GRANTED = [
  granted('web', { network: ['api.example.com:8443'], secrets: ['caller:API_KEY'] }),
  granted('data', { packages: ['pandas>=2'] }),
  tool('plain'),
]

async function metBy(...rules: readonly Rule[]): Promise<readonly string[]> {
  const set: RuleSet = { default: 'allow', rules }
  const checked = await checkedRules(set, catalogView({ global: GRANTED }), new Turns())
  expect(checked.set).toEqual(set)
  return checked.meets.map((met) => met.tool).toSorted()
}

test('a rule about grants meets the tools with a grant that its glob matches', async () => {
  expect(await metBy({ effect: 'deny', grant: 'network', value: '*.Example.com' })).toEqual(['web'])
  expect(await metBy({ effect: 'ask', grant: 'packages', value: 'Pandas' })).toEqual(['data'])
  expect(await metBy({ effect: 'deny', grant: 'secrets', value: 'API_KEY' })).toEqual(['web'])
  expect(
    await metBy(
      { effect: 'allow', grant: 'packages', value: '*' },
      { effect: 'deny', tool: 'plain' },
      { effect: 'deny', grant: 'network', value: 'none.com', future: true },
    ),
  ).toEqual(['data', 'plain'])
})

test('a rule about grants that no tool has is refused at its value', async () => {
  const rules: readonly Rule[] = [
    { effect: 'deny', grant: 'network', value: 'api.example.org' },
    { effect: 'deny', grant: 'network', value: 'api.example.com' },
    // Without its port, an allow does not match the host with another port.
    { effect: 'allow', grant: 'network', value: 'api.example.com' },
  ]
  const view = catalogView({ global: GRANTED })
  const error = await checkedRules({ default: 'allow', rules }, view, new Turns()).catch(
    (thrown: unknown) => thrown,
  )
  expect(isToolrackError(error) && [error.code, error.message]).toEqual([
    'RULE_INVALID',
    expect.stringMatching(/^\/rules\/0\/value matches no grant of a tool that you can list/),
  ])
  const details = isToolrackError(error) ? error.details : []
  expect(details.map((detail) => detail['pointer'])).toEqual(['/rules/0/value', '/rules/2/value'])
})
