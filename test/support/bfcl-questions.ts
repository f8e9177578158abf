import type { ToolDefinition } from '@toolrack/contract'
import { readFileSync } from 'node:fs'

/** A request of a person, and the name of the tool that serves it. */
export type BfclQuestion = { readonly question: string; readonly tool: string }

/** The 600 requests of the collection, or the 258 of real users, on which the search was tuned (docs/decisions/0034-search.md). */
export function bfclQuestions(set: 'questions' | 'live-questions' = 'questions'): readonly BfclQuestion[] {
  const lines = readFileSync(new URL(`bfcl/${set}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as BfclQuestion)
}

/** A list of tools: each place has a tool, and the tools that are named beside it. */
export type Places = readonly (readonly string[])[]

/**
 * The shares of requests whose tool is first, and in the first five places, in the lists that `find` makes. A tool with the same
 * description, or whose name has another of the suffixes that the collection has added, counts as the right one. So does the right
 * tool beside another.
 */
export async function recall(
  questions: readonly BfclQuestion[],
  definitions: readonly ToolDefinition[],
  find: (question: string) => Promise<Places>,
): Promise<{ readonly first: number; readonly firstFive: number }> {
  const isRight = sameTools(definitions)
  let first = 0
  let firstFive = 0
  for (const { question, tool } of questions) {
    const places = (await find(question)).slice(0, 5)
    const right = places.map(([shown = '', ...beside]) => isRight(shown, tool) || beside.includes(tool))
    if (isRight(places[0]?.[0] ?? '', tool)) first += 1
    if (right.includes(true)) firstFive += 1
  }
  return { first: first / questions.length, firstFive: firstFive / questions.length }
}

/** Says whether two names are of tools that are the same to a person. */
export function sameTools(definitions: readonly ToolDefinition[]): (a: string, b: string) => boolean {
  const said = new Map(definitions.map(({ function: { name, description } }) => [name, description]))
  return (a, b) => bare(a) === bare(b) || (said.has(a) && said.get(a) === said.get(b))
}

function bare(name: string): string {
  return name.replace(/_[0-9a-f]{6}$/, '')
}
