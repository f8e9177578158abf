import { errorAnswer } from './error-answer.ts'
import type { ErrorAnswer } from './error-answer.ts'

/** What stands in a path where a name belongs, and is none: stores would read another place, or nothing at all, in it. */
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

/** What each route of one definition answers to such a name, in each layer. */
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
