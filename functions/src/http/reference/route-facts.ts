import { z } from 'zod'
import type { RouteSchemas } from '../route-schemas.ts'
import { addressesOf, type Method, type TableRow } from '../route.ts'
import type { JsonSchema } from './json-schema-text.ts'
import { whoInFull, whoMay, type Allowed } from './who-may.ts'

/** One parameter, header or field that a request can have. */
export type Parameter = {
  /** The path of a field in a body, such as `layers[].name`. Undefined for the whole body. */
  readonly name: string | undefined
  readonly in: 'path' | 'query' | 'header' | 'body'
  readonly schema: JsonSchema
  readonly isRequired: boolean
  readonly description: string | undefined
}

/** The statuses whose answers have the same schema. `schema` is undefined if these answers have no body. */
export type AnswerFacts = { readonly statuses: readonly number[]; readonly schema: JsonSchema | undefined }

/** What programs and pages can know about a route. It is made from the table of routes and the schemas. */
export type RouteFacts = {
  readonly method: Method
  readonly path: string
  readonly summary: string
  /** The addresses of the route that at least one kind of sender may use. */
  readonly addresses: readonly string[]
  readonly allowed: readonly Allowed[]
  /** The kinds of senders whose answer has more than that of others. Undefined if all get the same answer. */
  readonly inFull: readonly string[] | undefined
  /** True if other senders get an answer as if there were nothing to read. */
  readonly isHidden: boolean
  readonly parameters: readonly Parameter[]
  readonly answers: readonly AnswerFacts[]
  /**
   * What the headers of answers mean, by name. `answerFields` says the same about fields of bodies, by a path such as
   * `items[].id`.
   */
  readonly answerHeaders: Readonly<Record<string, string>>
  readonly answerFields: Readonly<Record<string, string>>
  readonly events: Readonly<Record<string, JsonSchema>> | undefined
  readonly lines: JsonSchema | undefined
}

export async function routeFacts(row: TableRow): Promise<RouteFacts> {
  const { method, path, schemas: load } = row
  const schemas = await load?.()
  if (!schemas) throw new Error(`${method} ${path} has no schemas.`)
  const allowed = whoMay(row, schemas)
  const families = new Set(allowed.flatMap((one) => one.families))
  const addresses = addressesOf(row).filter(({ family }) => families.has(family))
  const { events, lines } = schemas
  return {
    method,
    path,
    summary: schemas.summary,
    addresses: addresses.map(({ address }) => address),
    allowed,
    inFull: row.action === 'anybody' ? undefined : whoInFull(row),
    isHidden: row.action !== 'anybody' && row.hide !== undefined,
    parameters: parametersOf(schemas),
    answers: answersOf(method, schemas),
    answerHeaders: schemas.answerHeaders ?? {},
    answerFields: Object.fromEntries(
      Object.entries(schemas.answers)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([, answer]) => describedFields(output(answer), '')),
    ),
    events: events && Object.fromEntries(Object.entries(events).map(([name, data]) => [name, output(data)])),
    lines: lines && output(lines),
  }
}

export function parametersOf({ params, query, headers = {}, body }: RouteSchemas): readonly Parameter[] {
  return [
    ...fieldsOf(params, 'path'),
    ...fieldsOf(query, 'query'),
    ...Object.entries(headers).map(([name, description]): Parameter => {
      return { name, in: 'header', schema: { type: 'string' }, isRequired: false, description }
    }),
    ...(body ? bodyOf(body) : []),
  ]
}

function bodyOf(body: z.ZodType): readonly Parameter[] {
  if (body instanceof z.ZodObject) return fieldsOf(body, 'body')
  const schema = input(body)
  const whole: Parameter = {
    name: undefined,
    in: 'body',
    schema,
    isRequired: true,
    description: body.description,
  }
  const forms = body instanceof z.ZodUnion ? body.options : []
  const fields = forms.flatMap((form) => (form instanceof z.ZodObject ? fieldsOf(form, 'body') : []))
  return [whole, ...fields.map((field) => ({ ...field, isRequired: false }))]
}

/** The fields of an object. If a field is an object too, its own fields come after it. */
function fieldsOf(object: z.ZodObject, place: Parameter['in'], before = ''): readonly Parameter[] {
  return Object.entries(object.shape as Readonly<Record<string, z.ZodType>>).flatMap(([key, field]) => {
    const inner = unwrapped(field)
    const name = `${before}${key}`
    const description = field.description ?? inner.description
    const isRequired = !field.safeParse(undefined).success
    const own: Parameter = { name, in: place, schema: input(field), isRequired, description }
    const item = inner instanceof z.ZodArray ? unwrapped(inner.element as z.ZodType) : inner
    if (!(item instanceof z.ZodObject)) return [own]
    return [own, ...fieldsOf(item, place, `${name}${item === inner ? '' : '[]'}.`)]
  })
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
  return isWrapped ? unwrapped(schema.unwrap() as z.ZodType) : schema
}

/** The answers of a route. Statuses whose schemas are equal are joined. */
function answersOf(method: Method, { answers, headers }: RouteSchemas): readonly AnswerFacts[] {
  const found = new Map<string, { readonly statuses: number[]; readonly schema: JsonSchema | undefined }>()
  for (const [status, answer] of Object.entries(answers)) {
    const schema = output(answer)
    const key = JSON.stringify(schema)
    const known = found.get(key) ?? { statuses: [], schema }
    known.statuses.push(Number(status))
    found.set(key, known)
  }
  const isCached = method === 'GET' && headers?.['If-None-Match'] !== undefined
  return [...found.values(), ...(isCached ? [{ statuses: [304], schema: undefined }] : [])]
}

/** Those fields of an answer that have a description, with their paths. */
function describedFields(schema: JsonSchema, before: string): readonly (readonly [string, string])[] {
  const { properties = {}, items, anyOf = [] } = schema
  const inItems = items ? describedFields(items as JsonSchema, `${before}[]`) : []
  const inChoices = anyOf.flatMap((one) => describedFields(one, before))
  const inFields = Object.entries(properties).flatMap(([name, field]) => {
    const path = before === '' ? name : `${before}.${name}`
    const { description } = field as JsonSchema
    const own = description === undefined ? [] : [[path, description] as const]
    return [...own, ...describedFields(field as JsonSchema, path)]
  })
  return [...inFields, ...inItems, ...inChoices]
}

function input(schema: z.ZodType): JsonSchema {
  return jsonSchema(schema, 'input')
}

function output(schema: z.ZodType): JsonSchema {
  return jsonSchema(schema, 'output')
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...found } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return found
}
