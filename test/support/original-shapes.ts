import type { JsonObject } from '@toolrack/contract'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A definition in one of the shapes that the original workflow engine reads, and what it must become. */
export type OriginalShape = {
  /** For example `function in defs, toolName, desc, tools-Agent`. */
  readonly title: string
  readonly sent: JsonObject
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly workflowName: string | undefined
}

const properties = {
  path: { type: 'string', description: 'Path of the file.', minLength: 1 },
  lines: { type: 'array', items: { type: 'integer' } },
}
const parameters = { type: 'object', properties, required: ['path'], additionalProperties: false }

/** Where a function stands: it can have its own name and description. */
const WRAPPED: readonly [string, (fn: JsonObject) => JsonObject][] = [
  ['function', (fn) => ({ type: 'function', function: fn })],
  ['function in defs', (fn) => ({ defs: { type: 'function', function: fn } })],
  ['function in spec', (fn) => ({ spec: { type: 'function', function: fn } })],
]

/** Where the parameters of a tool without a function stand. */
const FLAT: readonly [string, JsonObject, JsonObject][] = [
  ['bare', { parameters }, parameters],
  ['parameters in spec', { spec: { parameters } }, parameters],
  ['parameters in defs', { defs: { parameters } }, parameters],
  ['schema in spec', { spec: parameters }, parameters],
  ['schema in defs', { defs: parameters }, parameters],
  ['properties in spec', { spec: properties }, { type: 'object', properties }],
]

const NAME_KEYS = ['name', 'id', 'toolName']
const DESCRIPTION_KEYS = ['description', 'desc']
const WORKFLOWS = [undefined, 'tools-CliTools', 'tools-Agent']

/** Every combination of place, key of the name, key of the description and workflow. Each has a name of its own. */
export function originalShapes(): readonly OriginalShape[] {
  const shapes: OriginalShape[] = []
  function add(
    place: string,
    keys: readonly string[],
    made: JsonObject,
    make: (name: string, text: string) => JsonObject,
  ) {
    for (const workflowName of WORKFLOWS) {
      const count = shapes.length
      const name = workflowName === 'tools-Agent' ? `codebase-jobs-Agent_${count}` : `TOOL_${count}`
      const description = `Does the work of number ${count}.`
      const sent = { ...make(name, description), ...(workflowName !== undefined && { workflowName }) }
      const title = [place, ...keys, workflowName ?? 'no workflow'].join(', ')
      shapes.push({ title, sent, name, description, parameters: made, workflowName })
    }
  }
  for (const [place, wrap] of WRAPPED)
    for (const nameKey of [...NAME_KEYS, 'function.name'])
      for (const textKey of [...DESCRIPTION_KEYS, 'function.description'])
        add(place, [nameKey, textKey], parameters, (name, text) => ({
          ...(nameKey !== 'function.name' && { [nameKey]: name }),
          ...(textKey !== 'function.description' && { [textKey]: text }),
          ...wrap({
            ...(nameKey === 'function.name' && { name }),
            ...(textKey === 'function.description' && { description: text }),
            parameters,
          }),
        }))
  for (const [place, rest, made] of FLAT)
    for (const nameKey of NAME_KEYS)
      for (const textKey of DESCRIPTION_KEYS)
        add(place, [nameKey, textKey], made, (name, text) => ({ [nameKey]: name, [textKey]: text, ...rest }))
  return shapes
}

/** One of the ways in which files hold definitions: their content by path, and the category that their definitions get. */
type Layout = (shapes: readonly OriginalShape[]) => {
  readonly files: readonly (readonly [path: string, content: unknown])[]
  readonly category: (shape: OriginalShape) => string
}

const sentOf = (shapes: readonly OriginalShape[]) => shapes.map(({ sent }) => sent)

const LAYOUTS: readonly Layout[] = [
  (shapes) => ({
    files: shapes.map(({ name, sent }) => [`cli/${name}.json`, sent]),
    category: () => 'cli',
  }),
  (shapes) => ({
    files: shapes.map(({ name, sent }) => [`jobs/deep/er/${name}.json`, sent]),
    category: () => 'er',
  }),
  (shapes) => ({
    files: shapes.map(({ name, sent }) => [`${name}.json`, sent]),
    category: ({ name }) => name,
  }),
  (shapes) => ({ files: [['packs/array.json', sentOf(shapes)]], category: () => 'packs' }),
  (shapes) => ({ files: [['array at the top.json', sentOf(shapes)]], category: () => 'array at the top' }),
  (shapes) => ({
    files: [['families/a.json', { family: 'named', tools: sentOf(shapes) }]],
    category: () => 'named',
  }),
  (shapes) => ({
    files: [['families/unnamed/b.json', { tools: sentOf(shapes) }]],
    category: () => 'unnamed',
  }),
]

export type OriginalFile = OriginalShape & { readonly category: string }

/** Writes all shapes into files of all layouts, in turn. Returns them with their categories. */
export function writeOriginalFiles(folder: string): readonly OriginalFile[] {
  const shapes = originalShapes()
  return LAYOUTS.flatMap((layout, turn) => {
    const own = shapes.filter((_, index) => index % LAYOUTS.length === turn)
    const { files, category } = layout(own)
    for (const [path, content] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), JSON.stringify(content))
    }
    return own.map((shape) => ({ ...shape, category: category(shape) }))
  })
}
