import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { parseDefinition } from '../../../../functions/src/catalog/definitions/parse-definition.ts'
import type { Normalisation } from '../../../../functions/src/catalog/definitions/loose-shape.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const fn = { name: 'get_weather', description: 'The weather.', parameters: schema }
const stored = { type: 'function', function: fn }
const readAs = (from: string): Normalisation => ({ pointer: '', from, to: 'function tool' })
const leftOut = (pointer: string, from: string): Normalisation => ({ pointer, from, to: null })

type Shape = readonly [
  title: string,
  sent: JsonObject,
  definition: JsonObject,
  normalised: Normalisation[],
  at: string,
]

const SHAPES: Shape[] = [
  ['ours', stored, stored, [], '/function/parameters'],
  [
    'ours without type',
    { function: fn },
    stored,
    [{ pointer: '/type', from: null, to: 'function' }],
    '/function/parameters',
  ],
  [
    'OpenAI with strict',
    { type: 'function', function: { ...fn, strict: true } },
    stored,
    [leftOut('/function/strict', 'strict')],
    '/function/parameters',
  ],
  ['a bare OpenAI function', fn, stored, [readAs('bare OpenAI function')], '/parameters'],
  [
    'the flat tool of Responses',
    { type: 'function', ...fn, strict: false },
    stored,
    [leftOut('/strict', 'strict'), readAs('bare OpenAI function')],
    '/parameters',
  ],
  [
    'MCP',
    { name: fn.name, description: fn.description, inputSchema: schema },
    stored,
    [readAs('MCP tool')],
    '/inputSchema',
  ],
  [
    'MCP with title, annotations and outputSchema',
    {
      name: fn.name,
      title: 'Weather',
      description: fn.description,
      inputSchema: schema,
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    },
    { ...stored, annotations: { title: 'Weather', readOnlyHint: true } },
    [
      leftOut('/outputSchema', 'outputSchema'),
      readAs('MCP tool'),
      { pointer: '/title', from: 'title', to: 'annotations.title' },
    ],
    '/inputSchema',
  ],
  [
    'MCP with a title in two places',
    {
      name: fn.name,
      title: 'Other',
      description: fn.description,
      inputSchema: schema,
      annotations: { title: 'Weather' },
    },
    { ...stored, annotations: { title: 'Weather' } },
    [readAs('MCP tool'), leftOut('/title', 'title')],
    '/inputSchema',
  ],
  [
    'Anthropic',
    { name: fn.name, description: fn.description, input_schema: schema },
    stored,
    [readAs('Anthropic tool')],
    '/input_schema',
  ],
  [
    'Anthropic of type custom, with cache_control',
    {
      type: 'custom',
      name: fn.name,
      description: fn.description,
      input_schema: schema,
      cache_control: { type: 'ephemeral' },
    },
    stored,
    [leftOut('/cache_control', 'cache_control'), readAs('Anthropic tool')],
    '/input_schema',
  ],
  [
    'Gemini with parametersJsonSchema',
    { name: fn.name, description: fn.description, parametersJsonSchema: schema },
    stored,
    [readAs('Gemini declaration')],
    '/parametersJsonSchema',
  ],
  [
    'Gemini with response and behavior',
    { ...fn, response: { type: 'OBJECT' }, behavior: 'BLOCKING' },
    stored,
    [leftOut('/response', 'response'), leftOut('/behavior', 'behavior'), readAs('bare OpenAI function')],
    '/parameters',
  ],
  [
    'an item of an items envelope',
    { ...stored, workflowName: 'tools-Weather' },
    { ...stored, runner: { kind: 'workflow', workflowName: 'tools-Weather' } },
    [{ pointer: '/workflowName', from: 'workflowName', to: 'runner.workflowName' }],
    '/function/parameters',
  ],
  [
    'an item of an items envelope that has a runner already',
    { ...stored, workflowName: 'tools-CliTools', runner: { kind: 'python' } },
    { ...stored, runner: { kind: 'python' } },
    [leftOut('/workflowName', 'workflowName')],
    '/function/parameters',
  ],
  [
    'a name and nothing else',
    { name: 'ping' },
    {
      type: 'function',
      function: {
        name: 'ping',
        description: '',
        parameters: { type: 'object', properties: {}, required: [] },
      },
    },
    [
      readAs('bare OpenAI function'),
      { pointer: '/description', from: null, to: '' },
      { pointer: '/parameters', from: null, to: { type: 'object', properties: {}, required: [] } },
    ],
    '/parameters',
  ],
  [
    'a bare function of the original engine',
    { id: fn.name, toolName: 'other', desc: fn.description, parameters: schema, workflowName: 'tools-Agent' },
    { ...stored, runner: { kind: 'workflow', workflowName: 'tools-Agent' } },
    [
      readAs('bare OpenAI function'),
      { pointer: '/id', from: 'id', to: 'function.name' },
      leftOut('/toolName', 'toolName'),
      { pointer: '/desc', from: 'desc', to: 'function.description' },
      { pointer: '/workflowName', from: 'workflowName', to: 'runner.workflowName' },
    ],
    '/parameters',
  ],
  [
    'a bare function of the original engine whose first keys are empty',
    { name: null, id: '', toolName: fn.name, description: '', desc: fn.description, parameters: schema },
    stored,
    [
      readAs('bare OpenAI function'),
      leftOut('/name', 'name'),
      leftOut('/id', 'id'),
      { pointer: '/toolName', from: 'toolName', to: 'function.name' },
      leftOut('/description', 'description'),
      { pointer: '/desc', from: 'desc', to: 'function.description' },
    ],
    '/parameters',
  ],
  [
    'a function with its name and description beside it',
    { name: fn.name, desc: fn.description, type: 'function', function: { parameters: schema } },
    stored,
    [
      { pointer: '/name', from: 'name', to: 'function.name' },
      { pointer: '/desc', from: 'desc', to: 'function.description' },
    ],
    '/function/parameters',
  ],
  [
    'a function in defs, whose own name counts',
    { name: 'outside', description: 'Outside.', defs: { function: fn } },
    stored,
    [
      { pointer: '/defs', from: 'defs', to: 'function tool' },
      leftOut('/name', 'name'),
      leftOut('/description', 'description'),
      { pointer: '/type', from: null, to: 'function' },
    ],
    '/defs/function/parameters',
  ],
  [
    'parameters in spec',
    { name: fn.name, description: fn.description, spec: { parameters: schema } },
    stored,
    [{ pointer: '/spec', from: 'spec', to: 'function tool' }, readAs('bare OpenAI function')],
    '/spec/parameters',
  ],
  [
    'a schema in spec',
    { name: fn.name, description: fn.description, spec: schema },
    stored,
    [{ pointer: '/spec', from: 'spec', to: 'parameters' }, readAs('bare OpenAI function')],
    '/spec',
  ],
  [
    'ours without description',
    { type: 'function', function: { name: fn.name, parameters: schema } },
    { type: 'function', function: { name: fn.name, description: '', parameters: schema } },
    [{ pointer: '/function/description', from: null, to: '' }],
    '/function/parameters',
  ],
]

test.each(SHAPES)('%s is read, and told', async (_title, sent, definition, normalised, at) => {
  expect(await parseDefinition(sent)).toEqual({ definition, normalised, schemaPointer: at })
})

test.each(SHAPES)('what our own fields say is kept: %s', async (_title, sent, definition) => {
  const own = { category: 'web', tags: ['a'], sealed: true, limits: { timeoutSeconds: 3 } }
  expect(await parseDefinition({ ...sent, ...own })).toMatchObject({ definition: { ...definition, ...own } })
})

test.each(SHAPES)('what was sent is not touched: %s', async (_title, sent) => {
  const before = JSON.stringify(sent)
  await parseDefinition(sent)
  expect(JSON.stringify(sent)).toBe(before)
})

test.each(SHAPES)('the stored shape is read again without a word: %s', async (_title, sent) => {
  const first = await parseDefinition(sent)
  const definition = 'definition' in first ? first.definition : undefined
  expect(await parseDefinition(JSON.parse(JSON.stringify(definition)) as JsonObject)).toMatchObject({
    definition,
    normalised: [],
  })
})
