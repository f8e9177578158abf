import { describe, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { RouteSchemas } from '../../../functions/src/http/route-schemas.ts'
import type { TableRow } from '../../../functions/src/http/route.ts'
import { ROWS } from '../../support/route-table.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const API = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')

const routes = ROWS.map((row): readonly [string, TableRow] => [`${row.method} ${row.path}`, row])
const SCHEMAS = new Map<string, RouteSchemas>()
for (const [name, { schemas }] of routes) {
  const loaded = await schemas?.()
  if (loaded) SCHEMAS.set(name, loaded)
}

function schemasOf(name: string): RouteSchemas {
  const schemas = SCHEMAS.get(name)
  if (!schemas) throw new Error(`${name} has no schemas`)
  return schemas
}

test('each route has schemas', () => {
  expect(routes.map(([name]) => name).filter((name) => !SCHEMAS.has(name))).toEqual([])
})

describe.each(routes)('the schemas of %s', (name, row) => {
  const { params, query, body, answers } = schemasOf(name)

  test('name the variable parts of its path', () => {
    const parts = [...row.path.matchAll(/:(\w+)/g)].map(([, part]) => part)
    expect(Object.keys(params.shape)).toEqual(parts)
  })

  test('have a body if the route takes one', () => {
    expect(body !== undefined).toBe('takesBody' in row && row.takesBody)
  })

  test('have an answer to a request that succeeds', () => {
    expect(Object.keys(answers).filter((status) => status.startsWith('2'))).not.toEqual([])
  })

  test('refuse unknown parameters, as the route does', () => {
    const ignoresOthers = row.isOriginal === true || row.action === 'anybody'
    expect(query.partial().safeParse({ nobodyKnowsThis: '1' }).success).toBe(ignoresOthers)
  })
})

/** The names in the first cells of the first table below a heading of docs/api.md that has this first column. */
function documented(heading: string, column: string): string[] {
  const section = API.slice(API.indexOf(`\n${heading}\n`) + 1)
  const [table = ''] = section.slice(section.indexOf(`| ${column} |`)).split('\n\n')
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '')
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')).toSorted()
}

test.each([
  ['GET /tools/list', '## List', 'parameter'],
  ['GET /tools/invocations', '## Calls', 'parameter'],
  ['POST /tools/defs', '### Write many', 'parameter'],
])('docs/api.md has the parameters of %s, and no others', (name, heading, column) => {
  expect(documented(heading, column)).toEqual(Object.keys(schemasOf(name).query.shape).toSorted())
})

test('docs/api.md has the parameters of GET /audit, and no others', () => {
  const names = documented('## Audit', 'parameter of `GET /audit`')
  expect(names.filter((name) => name !== 'GET')).toEqual(
    Object.keys(schemasOf('GET /audit').query.shape).toSorted(),
  )
})

test.each([
  ['POST /tools/invoke', '## Invoke'],
  ['POST /tools/dispatch/complete', '### Complete'],
  ['POST /tools/wrap', '## Wrap'],
])('docs/api.md has the fields of the body of %s, and no others', (name, heading) => {
  const { body } = schemasOf(name)
  expect(documented(heading, 'field')).toEqual(
    body instanceof z.ZodObject && Object.keys(body.shape).toSorted(),
  )
})
