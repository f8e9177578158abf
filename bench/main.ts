import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { autocannon } from './generator/autocannon.ts'
import { findWrk } from './generator/wrk.ts'
import { artifacts } from './cases/artifacts.ts'
import { besideHostile } from './cases/beside-hostile.ts'
import { clientFallback } from './cases/client-fallback.ts'
import { cold } from './cases/cold.ts'
import { audit } from './cases/audit.ts'
import { convertedCall } from './cases/converted-call.ts'
import { dispatch } from './cases/dispatch.ts'
import { filter } from './cases/filter.ts'
import { firestore } from './cases/firestore.ts'
import { firstAnswer } from './cases/first-answer.ts'
import { callEvents } from './cases/call-events.ts'
import { callParts } from './cases/call-parts.ts'
import { firstCall } from './cases/first-call.ts'
import { governedCall } from './cases/governed-call.ts'
import { hostile } from './cases/hostile.ts'
import { isolatedCall } from './cases/isolated-call.ts'
import { isolatedThroughput } from './cases/isolated-throughput.ts'
import { limits } from './cases/limits.ts'
import { list } from './cases/list.ts'
import { memory } from './cases/memory.ts'
import { memoryOfCalls } from './cases/memory-of-calls.ts'
import { notModified } from './cases/not-modified.ts'
import { overload } from './cases/overload.ts'
import { packages } from './cases/packages.ts'
import { budget } from './cases/budget.ts'
import { search } from './cases/search.ts'
import { secondInstance } from './cases/second-instance.ts'
import { changes } from './cases/changes.ts'
import { runnerStart } from './cases/runner-start.ts'
import { secondStart } from './cases/second-start.ts'
import { statistics } from './cases/statistics.ts'
import { warmCall } from './cases/warm-call.ts'
import { resultOf, saveResult } from './measure/result.ts'
import type { Result } from './measure/result.ts'
import { circumstancesOf, HEADER, rowsOf, savePage } from './measure/table.ts'

const CASES = {
  list,
  'not-modified': notModified,
  filter,
  memory,
  'memory-of-calls': memoryOfCalls,
  'second-start': secondStart,
  firestore,
  cold,
  'second-instance': secondInstance,
  changes,
  'isolated-call': isolatedCall,
  audit,
  'governed-call': governedCall,
  'converted-call': convertedCall,
  'warm-call': warmCall,
  'call-parts': callParts,
  statistics,
  dispatch,
  'call-events': callEvents,
  'isolated-throughput': isolatedThroughput,
  'first-call': firstCall,
  'first-answer': firstAnswer,
  packages,
  'runner-start': runnerStart,
  hostile,
  'beside-hostile': besideHostile,
  limits,
  overload,
  'client-fallback': clientFallback,
  search,
  budget,
  artifacts,
}

/**
 * `npm run bench -- [case …] [--rounds 1] [--seconds 1] [--save]`: measures the cases. Prints the rows of a case after its
 * measurement, and at the end the time of each case. `scripts/bench.mjs` has checked the arguments. A missed goal does not change the
 * exit code.
 */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '1' },
      save: { type: 'boolean', default: false },
    },
  })
  const generator = findWrk() ?? autocannon
  const effort = { generator, rounds: Number(values.rounds), seconds: Number(values.seconds) }
  const chosen = Object.entries(CASES).filter(
    ([name]) => positionals.length === 0 || positionals.includes(name),
  )
  // In `npm run bench --save`, without `--`, npm takes the option for itself without a message. Then it does not arrive here.
  if (!values.save)
    console.error('Not saved: npm run bench -- --save writes bench/results/ and bench/RESULTS.md')
  const results: Result[] = []
  const seconds: [name: string, seconds: number][] = []
  for (const [name, measure] of chosen) {
    console.error(`${name} …`)
    const startedMs = performance.now()
    const result = resultOf(name, await withFolder((folder) => measure(folder, effort)))
    if (values.save) saveResult(result)
    const isFirst = results.push(result) === 1
    seconds.push([name, Math.round((performance.now() - startedMs) / 1_000)])
    console.log([...(isFirst ? HEADER : []), ...rowsOf(result)].join('\n'))
  }
  console.log(['', ...circumstancesOf(results)].join('\n'))
  if (values.save) savePage(Object.keys(CASES))
  const sum = seconds.reduce((total, [, each]) => total + each, 0)
  console.error(`\nSeconds: ${seconds.map(([name, each]) => `${name} ${each}`).join(', ')}; together ${sum}.`)
}

/** Calls `work` with a temporary folder, and removes the folder when the work has ended or failed. */
async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-bench-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove).on('SIGINT', interrupt).on('SIGTERM', interrupt)
  try {
    return await work(folder)
  } finally {
    process.off('exit', remove).off('SIGINT', interrupt).off('SIGTERM', interrupt)
    remove()
  }
}

function interrupt(): never {
  process.exit(130)
}

await main()
