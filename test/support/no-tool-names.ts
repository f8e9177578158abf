import { errorAnswer } from './error-answer.ts'
import type { ErrorAnswer } from './error-answer.ts'

/** Texts in the place of a tool name that are not tool names. A store would read another place, or nothing, under them. */
export const NO_TOOL_NAMES = [
  '__x__',
  '__proto__',
  'constructor',
  'a/b',
  'a/b/c',
  '/',
  '../../modules/items/weather',
  'a\u0000b',
  'a\u001Bb',
  'a\nb',
  '\uFF21',
  '1a',
  'a b',
  'x'.repeat(129),
  'x'.repeat(2_000),
]

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

/** The answers of each route of one definition to such a name, in each layer. */
export async function answersTo(name: string, fetch: Fetch): Promise<readonly ErrorAnswer[]> {
  const path = `/workflows/tools/defs/${encodeURIComponent(name)}`
  const body = JSON.stringify({ revision: 'r1' })
  const answers: ErrorAnswer[] = []
  for (const layer of ['user', 'global'])
    for (const [end, init] of [
      ['', {}],
      ['', { method: 'DELETE' }],
      ['', { method: 'DELETE', headers: { 'If-Match': '*' } }],
      ['/versions', {}],
      ['/rollback', { method: 'POST', body }],
    ] as const)
      answers.push(await errorAnswer(await fetch(`${path}${end}?layer=${layer}`, init)))
  return answers
}
