import { readFileSync } from 'node:fs'

/** One case of the contract. `I` is the type of the input, `E` of the expected output. */
export type VectorCase<I, E> = { readonly title: string; readonly input: I; readonly expected: E }

export const VECTORS_FOLDER = new URL('../../packages/contract/vectors/', import.meta.url)

/** The cases of one file of `packages/contract/vectors`, which pytest runs too. A case without a title is named by its input. */
export function vectors<I, E>(file: string): readonly VectorCase<I, E>[] {
  const text = readFileSync(new URL(`${file}.json`, VECTORS_FOLDER), 'utf8')
  const { cases } = JSON.parse(text) as { cases: (Omit<VectorCase<I, E>, 'title'> & { title?: string })[] }
  return cases.map((found) => ({ ...found, title: found.title ?? String(found.input) }))
}
