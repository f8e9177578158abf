import { fuzzArguments } from './arguments.ts'
import { report } from './report.ts'
import { runRounds } from './rounds.ts'
import type { Rounds, RoundsOutcome } from './rounds.ts'
import { CostClimb } from './schemas/cost-climb.ts'
import { PAST_FINDINGS } from './schemas/past-findings.ts'
import { schemaCases } from './schemas/schema-cases.ts'
import type { SchemaCase } from './schemas/schema-cases.ts'
import { SchemaTrials } from './schemas/schema-trials.ts'

export type SchemasOutcome = RoundsOutcome<SchemaCase> & {
  readonly numbers: Readonly<Record<string, number>>
}

/** Schemas and arguments: checked in every way and compared, and made as costly as they can be. */
export async function fuzzSchemas(
  options: Pick<Rounds<SchemaCase>, 'seed' | 'until' | 'casesPerRound'> & { readonly climbsPerRound: number },
): Promise<SchemasOutcome> {
  await using trials = new SchemaTrials()
  await using climb = await CostClimb.start(options.seed)
  const outcome = await runRounds({
    ...options,
    cases: schemaCases,
    past: PAST_FINDINGS,
    attempt: (tried) => trials.attempt(tried),
    afterRound: () => climb.steps(options.climbsPerRound),
  })
  return { ...outcome, numbers: { ...trials.numbers, ...climb.numbers } }
}

if (import.meta.main) {
  const { seconds, seed } = fuzzArguments(process.argv.slice(2))
  const until = { ms: performance.now() + seconds * 1_000 }
  report('schemas', await fuzzSchemas({ seed, until, casesPerRound: 200, climbsPerRound: 3 }), seed)
}
