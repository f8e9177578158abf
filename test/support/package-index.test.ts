import { expect, test } from '@jest/globals'
import { packageIndex } from './package-index.ts'

test('an index lists the wheels of its packages with their hashes', async () => {
  await using index = await packageIndex([{ name: 'Alpha', requires: ['beta'] }, { name: 'beta' }])
  const page = (await (await fetch(`${index.url}alpha`)).json()) as {
    files: { filename: string; hashes: object }[]
  }
  expect(page.files).toEqual([
    expect.objectContaining({
      filename: 'alpha-1.0-py3-none-any.whl',
      hashes: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    }),
  ])
  expect((await fetch(`${index.url}absent`)).status).toBe(404)
})
