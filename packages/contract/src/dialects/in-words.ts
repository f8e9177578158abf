import type { JsonObject } from '../json.ts'

/** Annotations that the description tells instead; the silent ones say nothing to a model. */
const TOLD = { default: 'Default', examples: 'Examples' } as const
const SILENT = new Set(['$comment', 'deprecated', 'readOnly', 'writeOnly'])

/** Without what strict schemas have no keyword for: a default or an example is told in words. */
export function inWords(schema: JsonObject): JsonObject {
  const { default: _default, examples: _examples, ...rest } = schema
  const words = Object.entries(TOLD).flatMap(([keyword, word]) =>
    schema[keyword] === undefined ? [] : [`${word}: ${JSON.stringify(schema[keyword])}.`],
  )
  const kept = Object.entries(rest).filter(([keyword]) => !SILENT.has(keyword))
  if (words.length === 0 && kept.length === Object.keys(schema).length) return schema
  const { description } = schema
  const said = typeof description === 'string' && description !== '' ? [description, ...words] : words
  return { ...Object.fromEntries(kept), ...(said.length > 0 && { description: said.join(' ') }) }
}
