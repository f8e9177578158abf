import { fuzzArguments } from './arguments.ts'
import { report } from './report.ts'
import { runRounds } from './rounds.ts'
import { PAST_FINDINGS } from './routes/past-findings.ts'
import { requestCases } from './routes/request-cases.ts'
import { RequestTrials } from './routes/request-trials.ts'

/** A program of its own: requests of every shape to every route of a real service. */
const { until, seed } = fuzzArguments(process.argv.slice(2))
await using trials = await RequestTrials.start()
const outcome = await runRounds({
  seed,
  until,
  casesPerRound: 200,
  cases: requestCases,
  past: PAST_FINDINGS,
  attempt: (request) => trials.attempt(request),
  afterRound: () => trials.afterRound(),
})
report('routes', { ...outcome, numbers: trials.numbers }, seed)
