import { fuzzArguments } from './arguments.ts'
import { report } from './report.ts'
import { runRounds } from './rounds.ts'
import type { Fault, Rounds, RoundsOutcome } from './rounds.ts'
import type { FuzzedRequest } from './routes/fuzzed-request.ts'
import { PAST_FINDINGS } from './routes/past-findings.ts'
import { requestCases } from './routes/request-cases.ts'
import { RequestTrials } from './routes/request-trials.ts'

/** Requests of every shape to every route of a real service. */
export type RoutesOutcome = RoundsOutcome<FuzzedRequest> & {
  readonly numbers: Readonly<Record<string, number>>
}

export async function fuzzRoutes(
  options: Pick<Rounds<FuzzedRequest>, 'seed' | 'until' | 'casesPerRound'>,
): Promise<RoutesOutcome> {
  await using trials = await RequestTrials.start()
  const outcome = await runRounds({
    ...options,
    cases: requestCases,
    past: PAST_FINDINGS,
    attempt: (request) => trials.attempt(request),
    afterRound: (): Promise<readonly Fault[]> => trials.afterRound(),
  })
  return { ...outcome, numbers: trials.numbers }
}

if (import.meta.main) {
  const { seconds, seed } = fuzzArguments(process.argv.slice(2))
  const until = { ms: performance.now() + seconds * 1_000 }
  report('routes', await fuzzRoutes({ seed, until, casesPerRound: 200 }), seed)
}
