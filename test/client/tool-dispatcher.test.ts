import { describe, expect, test } from '@jest/globals'
import { aliasOf } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import type { Runner } from '../../packages/client/src/index.ts'
import { MESSAGES, SAID } from '../support/answered-messages.ts'
import { aiSdk, anthropic, chat, gemini, langchain, responses } from './calls.ts'
import { listed } from './scripted-service.ts'

const echo: Runner = { name: 'ECHO', run: ({ text }) => text }

function runner(name: string, run: Runner['run'] = () => `ran ${name}`): Runner {
  return { name, run }
}

async function said(dispatcher: ToolDispatcher, calls: object): Promise<string[]> {
  const { results } = await dispatcher.dispatch(calls)
  return results.map(({ result }) => result.textResultForLlm)
}

test.each([
  ['openai', chat, 'tool_calls', { role: 'assistant', content: null }],
  ['openai-responses', responses, 'output', { id: 'resp_1', object: 'response' }],
  ['anthropic', anthropic, 'content', { role: 'assistant', stop_reason: 'tool_use' }],
  ['gemini', gemini, 'parts', { role: 'model' }],
  [
    'langchain',
    langchain,
    'tool_calls',
    { content: [{ type: 'text', text: 'Hm.' }], invalid_tool_calls: [] },
  ],
  ['ai-sdk', aiSdk, 'content', { role: 'assistant' }],
] as const)(
  '%s: known and unknown calls are answered in their order, in the shape that the vendor wants',
  async (format, make, wrapper, around) => {
    const dispatcher = new ToolDispatcher({ runners: [echo] })
    const calls = [
      make('c0', 'ECHO', { text: 'one' }),
      make('c1', 'NOPE', {}),
      make('c2', 'ECHO', { text: 'two' }),
    ]
    for (const answer of [calls, { ...around, [wrapper]: calls }])
      expect(await dispatcher.dispatch(answer)).toMatchObject({
        format,
        messages: MESSAGES[format],
        results: SAID.map((textResultForLlm, index) => ({
          index,
          id: `c${index}`,
          result: { textResultForLlm },
        })),
      })
  },
)

describe('names', () => {
  test('a Runner is found by its exact name and by its alias', async () => {
    const dispatcher = new ToolDispatcher({ runners: [runner('ns:get'), runner('a.b')] })
    const calls = ['ns:get', 'ns__get', 'a.b', aliasOf('a.b')].map((name, index) =>
      chat(`c${index}`, name, {}),
    )
    expect(await said(dispatcher, calls)).toEqual(['ran ns:get', 'ran ns:get', 'ran a.b', 'ran a.b'])
  })

  test('the alias of one tool that is the name of another means the other', async () => {
    for (const names of [
      ['ns:get', 'ns__get'],
      ['ns__get', 'ns:get'],
    ]) {
      const dispatcher = new ToolDispatcher({ runners: names.map((name) => runner(name)) })
      const calls = [chat('c0', 'ns:get', {}), chat('c1', 'ns__get', {})]
      expect(await said(dispatcher, calls)).toEqual(['ran ns:get', 'ran ns__get'])
    }
  })

  test('a tool named with each character the grammar allows is run by its name and by its alias', async () => {
    const first = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_')
    const names = [...first, ...[...first, ...Array.from('0123456789.:-')].map((char) => `T${char}z`)]
    const dispatcher = new ToolDispatcher({ runners: names.map((name) => runner(name)) })
    const calls = names.flatMap((name, index) => [
      chat(`n${index}`, name, {}),
      chat(`a${index}`, aliasOf(name), {}),
    ])
    expect(await said(dispatcher, calls)).toEqual(names.flatMap((name) => [`ran ${name}`, `ran ${name}`]))
  })

  test('a name in another case is unknown', async () => {
    expect(await said(new ToolDispatcher({ runners: [echo] }), [chat('c', 'echo', {})])).toEqual([
      'Unsupported tool: echo',
    ])
  })

  test('a name that no tool can have is not repeated', async () => {
    const texts = await said(new ToolDispatcher({}), [chat('c', 'Ignore <all> this', {})])
    expect(texts).toEqual(['Unsupported tool: no tool can have that name'])
  })

  test.each<[string, readonly Runner[], RegExp]>([
    [
      'two Runners of one name',
      [echo, runner('A'), echo],
      /^Runner 2 cannot be used: another one is named ECHO\.$/,
    ],
    [
      'a Runner whose definition has another name',
      [{ ...echo, definition: listed('Echo') }],
      /^Runner 0 cannot be used: it is named ECHO, but its definition has another name\.$/,
    ],
    ['a Runner without a name', [runner('')], /no tool can have its name/],
    ['a Runner with a name that no tool can have', [runner('SECRET name')], /no tool can have its name/],
    ['a Runner with a reserved name', [runner('__proto__')], /no tool can have its name/],
  ])('%s is found at construction', (_title, runners, message) => {
    const make = (): ToolDispatcher => new ToolDispatcher({ runners })
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(make).not.toThrow('SECRET')
  })

  test('a Runner with the definition of its own name is taken', async () => {
    const dispatcher = new ToolDispatcher({ runners: [{ ...echo, definition: listed('ECHO') }] })
    expect(await said(dispatcher, [chat('c', 'ECHO', { text: 'a' })])).toEqual(['a'])
  })
})

describe('results', () => {
  test.each<[string, unknown, object]>([
    ['a text', 'hi', { resultType: 'success', textResultForLlm: 'hi' }],
    ['an object', { a: 1 }, { resultType: 'success', textResultForLlm: '{"a":1}', data: { a: 1 } }],
    ['nothing', undefined, { resultType: 'success', textResultForLlm: 'null', data: null }],
    ['a number that JSON has no form for', Number.NaN, { resultType: 'failure', code: 'RESULT_INVALID' }],
    ['a circle', circle(), { resultType: 'failure', code: 'RESULT_INVALID' }],
    [
      'a ToolResult',
      { resultType: 'failure', textResultForLlm: 'no', error: 'no', code: 'TOOL_RAISED' },
      { resultType: 'failure', textResultForLlm: 'no', error: 'no', code: 'TOOL_RAISED' },
    ],
  ])('%s that a Runner returns, at once or later', async (_title, returned, result) => {
    for (const run of [() => returned, async () => returned]) {
      const { results } = await new ToolDispatcher({ runners: [runner('T', run)] }).dispatch([
        chat('c', 'T', {}),
      ])
      expect(results).toMatchObject([{ result }])
    }
  })

  test.each<[string, Runner['run'], string]>([
    [
      'throws',
      () => {
        throw new RangeError('too far')
      },
      'T: RangeError: too far',
    ],
    ['rejects', () => Promise.reject(new Error('no')), 'T: Error: no'],
    ['throws a text', () => Promise.reject('no'), 'T: threw string'],
    ['throws what has no text', () => Promise.reject(Object.create(null) as Error), 'T: threw object'],
  ])('a Runner that %s gives a failure, and the others their results', async (_title, run, error) => {
    const dispatcher = new ToolDispatcher({ runners: [runner('T', run), echo] })
    const { results } = await dispatcher.dispatch([chat('c0', 'T', {}), chat('c1', 'ECHO', { text: 'a' })])
    expect(results).toMatchObject([
      { result: { resultType: 'failure', code: 'TOOL_RAISED', error, textResultForLlm: error } },
      { result: { resultType: 'success', textResultForLlm: 'a' } },
    ])
  })

  test('a Runner that does not end is a failure at the deadline, and is told', async () => {
    let told: unknown
    const run: Runner['run'] = (_args, { signal }) => {
      signal.addEventListener('abort', () => (told = signal.reason))
      return new Promise(() => undefined)
    }
    const dispatcher = new ToolDispatcher({ runners: [runner('T', run)], deadlineMs: 50 })
    const { results } = await dispatcher.dispatch([chat('c', 'T', {})])
    expect(results).toMatchObject([
      { result: { code: 'DEADLINE_EXCEEDED', error: 'T did not end within 50 ms.' } },
    ])
    expect(told).toBeInstanceOf(Error)
  })

  test('a Runner is told by which name and id it was called', async () => {
    const seen: unknown[] = []
    const run: Runner['run'] = (args, { name, id }) => seen.push({ args, name, id })
    await new ToolDispatcher({ runners: [runner('ns:t', run)] }).dispatch([
      anthropic('c1', 'ns__t', { a: [1] }),
    ])
    expect(seen).toEqual([{ args: { a: [1] }, name: 'ns__t', id: 'c1' }])
  })

  test('a caller who leaves ends the calls, and gets the reason', async () => {
    const leaving = new AbortController()
    const run: Runner['run'] = (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        leaving.abort(new Error('I have gone'))
      })
    const dispatcher = new ToolDispatcher({ runners: [runner('T', run)] })
    await expect(dispatcher.dispatch([chat('c', 'T', {})], leaving)).rejects.toThrow('I have gone')
  })
})

describe('calls', () => {
  test.each([
    ['broken JSON', '{"text":"a"'],
    ['a text', '"a"'],
    ['a list', '[]'],
    ['null', 'null'],
  ])(
    'arguments that are %s are a failure that the model can mend, of this call alone',
    async (_title, text) => {
      const { messages, results } = await new ToolDispatcher({ runners: [echo] }).dispatch([
        chat('c0', 'ECHO', text),
        chat('c1', 'ECHO', { text: 'b' }),
      ])
      expect(results).toMatchObject([
        { result: { code: 'ARGUMENTS_INVALID' } },
        { result: { textResultForLlm: 'b' } },
      ])
      expect(messages).toMatchObject([{ content: expect.stringMatching(/^ECHO: .*send the call again/) }, {}])
    },
  )

  test('arguments that are an empty text mean that there are none', async () => {
    const dispatcher = new ToolDispatcher({ runners: [runner('T', (args) => args)] })
    expect(await said(dispatcher, [chat('c', 'T', ' ')])).toEqual(['{}'])
  })

  test('null for an optional parameter, as strict models write it, is left out where the definition is known', async () => {
    const parameters = { type: 'object', properties: { a: { type: 'string' } } }
    const definition = { function: { name: 'T', description: '', parameters } }
    const strict: Runner = { name: 'T', definition, run: (args) => args }
    expect(await said(new ToolDispatcher({ runners: [strict] }), [chat('c', 'T', { a: null })])).toEqual([
      '{}',
    ])
  })

  test('a call without an id is run, and answered without one', async () => {
    const dispatcher = new ToolDispatcher({ runners: [echo] })
    const { id: _id, ...call } = chat('', 'ECHO', { text: 'a' })
    expect((await dispatcher.dispatch([call])).messages).toEqual([
      { role: 'tool', tool_call_id: '', content: 'a' },
    ])
    expect((await dispatcher.dispatch([gemini(undefined, 'ECHO', { text: 'a' })])).messages).toEqual([
      { role: 'user', parts: [{ functionResponse: { name: 'ECHO', response: { output: 'a' } } }] },
    ])
  })

  test('of two calls of one id neither is run, and the others are', async () => {
    let ran = 0
    const dispatcher = new ToolDispatcher({ runners: [runner('T', () => (ran += 1))] })
    const calls = [chat('a', 'T', {}), chat('b', 'T', {}), chat('a', 'T', {})]
    const { results } = await dispatcher.dispatch(calls)
    expect(results.map(({ result }) => result.resultType)).toEqual(['failure', 'success', 'failure'])
    expect(ran).toBe(1)
  })

  test('a call without a name is a failure', async () => {
    const call = { id: 'c', type: 'function', function: { arguments: '{}' } }
    expect(await said(new ToolDispatcher({}), [call])).toEqual(['The call must have a function.name.'])
  })

  test('a hundred calls are run at the same time and answered in their order', async () => {
    let waiting = 0
    const { promise: all, resolve: release } = Promise.withResolvers<void>()
    const run: Runner['run'] = async ({ index }) => {
      waiting += 1
      if (waiting === 100) release()
      await all
      return `said ${Number(index)}`
    }
    const calls = Array.from({ length: 100 }, (_, index) => chat(`c${index}`, 'T', { index }))
    const { messages } = await new ToolDispatcher({ runners: [runner('T', run)] }).dispatch(calls)
    expect(messages).toEqual(
      calls.map((_, index) => ({ role: 'tool', tool_call_id: `c${index}`, content: `said ${index}` })),
    )
  })

  test.each<[string, object]>([
    ['a message that only speaks', { role: 'assistant', content: 'Hello.' }],
    ['a message without content', { role: 'assistant', content: null, refusal: 'No.' }],
    ['an empty list', []],
    [
      'texts and thoughts',
      {
        content: [
          { type: 'text', text: 'Hm.' },
          { type: 'thinking', thinking: '…' },
        ],
      },
    ],
  ])('%s has no calls, and nothing is to be appended', async (_title, answer) => {
    expect(await new ToolDispatcher({}).dispatch(answer)).toEqual({
      format: null,
      messages: [],
      results: [],
      pending: [],
    })
  })

  test.each<[string, object, RegExp]>([
    ['a whole completion', { choices: [] }, /must be a list of tool calls/],
    ['a list of names', ['ECHO'], /item 0 that is not a JSON object/],
    ['a list of other things', [{ name: 'ECHO' }], /item 0 that is not a tool call/],
    ['two formats', [chat('a', 'T', {}), anthropic('b', 'T', {})], /mixes formats/],
  ])('%s is a clear error', async (_title, answer, message) => {
    await expect(new ToolDispatcher({}).dispatch(answer)).rejects.toMatchObject({
      code: 'CALLS_INVALID',
      message: expect.stringMatching(message),
    })
  })
})

function circle(): JsonObject {
  const own: { self?: unknown } = {}
  own.self = own
  return own as JsonObject
}
