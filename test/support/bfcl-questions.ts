import { readFileSync } from 'node:fs'

/** A request of a person, and the name of the tool that serves it. */
export type BfclQuestion = { readonly question: string; readonly tool: string }

/** The 600 requests, or one half of them. The ranking of the search was chosen on the odd rows (docs/decisions/0034-search.md). */
export function bfclQuestions(half?: 'odd' | 'even'): readonly BfclQuestion[] {
  const lines = readFileSync(new URL('bfcl/questions.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const all = lines.map((line) => JSON.parse(line) as BfclQuestion)
  return half === undefined ? all : all.filter((_, index) => index % 2 === (half === 'odd' ? 1 : 0))
}

/** The shares of requests whose tool is first, and among the first five, in the lists that `find` makes. */
export async function recall(
  questions: readonly BfclQuestion[],
  find: (question: string) => Promise<readonly string[]>,
): Promise<{ readonly first: number; readonly firstFive: number }> {
  let first = 0
  let firstFive = 0
  for (const { question, tool } of questions) {
    const place = (await find(question)).indexOf(tool)
    if (place === 0) first += 1
    if (place >= 0 && place < 5) firstFive += 1
  }
  return { first: first / questions.length, firstFive: firstFive / questions.length }
}
