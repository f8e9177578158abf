import { fuzzArguments } from './arguments.ts'
import { report } from './report.ts'
import { runRounds } from './rounds.ts'
import { CostClimb } from './schemas/cost-climb.ts'
import { PAST_FINDINGS } from './schemas/past-findings.ts'
import { schemaCases } from './schemas/schema-cases.ts'
import { SchemaTrials } from './schemas/schema-trials.ts'

/** A program of its own. Schemas and arguments: checked in every way and compared, and made as costly as they can be. */
const { until, seed } = fuzzArguments(process.argv.slice(2))
await using trials = new SchemaTrials()
await using climb = await CostClimb.start(seed)
const outcome = await runRounds({
  seed,
  until,
  casesPerRound: 150,
  cases: schemaCases,
  past: PAST_FINDINGS,
  attempt: (tried) => trials.attempt(tried),
  afterRound: () => climb.steps(2),
})
report('schemas', { ...outcome, numbers: { ...trials.numbers, ...climb.numbers } }, seed)
