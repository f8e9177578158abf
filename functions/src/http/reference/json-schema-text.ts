import type { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The most values of a field that are listed. If there are more, only the type is shown. */
const VALUES_SHOWN_MAX = 10
/** The largest bound of a number that is shown. Larger bounds only come from the type of the number, and not from a rule. */
const BOUND_SHOWN_MAX = 1e12
/** If an object has at most this many fields, the fields of its fields are shown too. */
const FIELDS_WITH_THEIR_OWN = 3

/** The type of a parameter in words, as Markdown. */
export function typeText(schema: JsonSchema): string {
  const { $ref, enum: values, anyOf, oneOf, type } = schema
  if ($ref !== undefined) return 'JSON'
  if ('const' in schema) return code(schema.const)
  if (values) return values.length > VALUES_SHOWN_MAX ? 'text' : values.map(code).join(', ')
  const choices = anyOf ?? oneOf
  if (choices) return [...new Set(choices.map((one) => typeText(one)))].join(' or ')
  if (type === 'integer') return `whole number${rangeText(schema)}`
  if (type === 'boolean') return '`true` or `false`'
  if (type === 'array') return `list of ${PLURALS[typeText(schema.items as JsonSchema)] ?? 'values'}`
  return type === undefined
    ? 'JSON'
    : [type]
        .flat()
        .map((one) => typeWord(one))
        .join(' or ')
}

function typeWord(type: string): string {
  return type === 'string' ? 'text' : type
}

const PLURALS: Readonly<Record<string, string>> = { text: 'texts', object: 'objects', JSON: 'JSON values' }

function rangeText({ minimum, maximum }: JsonSchema): string {
  const from = minimum !== undefined && minimum > -BOUND_SHOWN_MAX ? minimum : undefined
  const to = maximum !== undefined && maximum < BOUND_SHOWN_MAX ? maximum.toLocaleString('en') : undefined
  if (from !== undefined && to !== undefined) return `, ${from} to ${to}`
  return from === undefined ? '' : `, from ${from}`
}

function code(value: unknown): string {
  return `\`${String(value)}\``
}

/** The shape of a JSON value as Markdown: the names of its fields, such as `{items: [{id, name?}]}`. */
export function shapeText(schema: JsonSchema): string {
  if ('const' in schema && schema.const === '') return 'no body'
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map((one) => shapeText(one)))].join(' or ')
  const shape = shapeOf(schema, 0)
  return shape === undefined ? typeText(schema) : `\`${shape}\``
}

/** The shape of a value that has fields. Undefined for a value without fields. */
function shapeOf(schema: JsonSchema, depth: number): string | undefined {
  const { type, properties, items, required = [], anyOf } = schema
  if (anyOf) {
    const [first, ...others] = anyOf.map((one) => shapeOf(one, depth))
    return others.every((one) => one === first || one === undefined) ? first : undefined
  }
  if (type === 'array') {
    const inner = items === undefined ? undefined : shapeOf(items as JsonSchema, depth)
    return inner === undefined ? undefined : `[${inner}]`
  }
  if (type !== 'object' || !properties) return undefined
  const names = Object.keys(properties)
  const showsFields = depth === 0 && names.length <= FIELDS_WITH_THEIR_OWN
  const fields = Object.entries(properties).map(([name, field]) => {
    const inner = showsFields ? shapeOf(field as JsonSchema, depth + 1) : undefined
    const key = required.includes(name) ? name : `${name}?`
    return inner === undefined ? key : `${key}: ${inner}`
  })
  return `{${fields.join(', ')}}`
}
