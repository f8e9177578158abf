import { readFileSync } from 'node:fs'

/** One case of the contract. `I` is the type of the input, `E` of the expected output. */
export type VectorCase<I, E> = { readonly title: string; readonly input: I; readonly expected: E }

export const VECTORS_FOLDER = new URL('../../packages/contract/vectors/', import.meta.url)

/**
 * The cases of one file of `packages/contract/vectors`, or its `list` of other cases. pytest runs them too. A case without a title
 * is named by its input.
 */
export function vectors<I, E>(file: string, list = 'cases'): readonly VectorCase<I, E>[] {
  const text = readFileSync(new URL(`${file}.json`, VECTORS_FOLDER), 'utf8')
  const lists = JSON.parse(text) as Record<string, (Omit<VectorCase<I, E>, 'title'> & { title?: string })[]>
  return (lists[list] ?? []).map((found) => ({ ...found, title: found.title ?? String(found.input) }))
}
