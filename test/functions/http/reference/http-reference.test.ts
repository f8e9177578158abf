import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { httpReferenceText } from '../../../../functions/src/features/http-reference.ts'
import { routesOf } from '../../../../functions/src/http/reference/markdown.ts'
import { ROWS, TABLE } from '../../../support/route-table.ts'
import { ROOT } from '../../../support/source-tree.ts'

const page = readFileSync(new URL('docs/reference/http.md', ROOT), 'utf8')

test('docs/reference/http.md is what npm run http-reference makes of it', async () => {
  expect(await httpReferenceText(page, ROWS)).toBe(page)
})

test('docs/reference/http.md describes each route once', () => {
  const known = TABLE.map(({ method, path }) => `${method} ${path}`)
  expect(routesOf(page).toSorted()).toEqual(known.toSorted())
})

test('routes that the page does not name get a section at its end', async () => {
  const rows = ROWS.filter(({ path }) => path === '/scopes' || path === '/scopes/:kind/:id/commands')
  const made = await httpReferenceText('# Page\n', rows)
  expect(made).toContain(
    '# Page\n\n## Scopes\n\n<!-- made by npm run http-reference: GET /scopes, POST /scopes/:kind/:id/commands -->\n',
  )
  expect(made).toContain('### `GET /scopes`')
  expect(await httpReferenceText(made, rows)).toBe(made)
})

test('a part of the page that names no route is refused', async () => {
  const wrong = '<!-- made by npm run http-reference: GET /nothing -->\n<!-- end -->\n'
  await expect(httpReferenceText(wrong, ROWS)).rejects.toThrow('There is no route GET /nothing.')
})
