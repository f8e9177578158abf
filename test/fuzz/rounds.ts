import fc from 'fast-check'

/** What is wrong. Faults of one `kind` are one finding, however many cases show it. */
export type Fault = { readonly kind: string; readonly detail: string }

/** A fault, the smallest case that was seen to show it, and the seed of the round that found it. */
export type Finding<Case> = Fault & { readonly seed: number; readonly found: Case }

export type Rounds<Case> = {
  readonly cases: fc.Arbitrary<Case>
  /** Tries one case; undefined when nothing is wrong. It may be asked for a smaller form of a case that has failed. */
  readonly attempt: (tried: Case) => Promise<Fault | undefined>
  /** Looks at what a single case does not show, after each round. */
  readonly afterRound?: () => Promise<readonly Fault[]>
  readonly seed: number
  readonly casesPerRound: number
  /** Rounds until this moment, as `performance.now()` tells it; or so many rounds. */
  readonly until: { readonly ms: number } | { readonly rounds: number }
  /** Cases that were findings once: they come before the first round. */
  readonly past: readonly Case[]
}

export type RoundsOutcome<Case> = { readonly cases: number; readonly findings: readonly Finding<Case>[] }

/** How long the smallest form of a case is looked for, in milliseconds. */
const SHRINK_MS = 30_000

/**
 * Tries cases in rounds. Round n has the seed `seed` + n, so that the seed of a finding repeats it in the first round. What
 * was found once is not reported again, and does not keep other faults from being found.
 */
export async function runRounds<Case>(options: Rounds<Case>): Promise<RoundsOutcome<Case>> {
  const { cases, attempt, afterRound, seed, casesPerRound, until, past } = options
  const findings: Finding<Case>[] = []
  const known = new Set<string>()
  let tried = 0

  function report(fault: Fault, seed: number, found: Case): void {
    if (!known.has(fault.kind)) findings.push({ ...fault, seed, found })
    known.add(fault.kind)
  }

  for (const found of past) {
    tried += 1
    const fault = await attempt(found)
    if (fault) report(fault, seed, found)
  }
  for (let round = 0; isOpen(until, round); round += 1) {
    let failing: { readonly fault: Fault; readonly found: Case } | undefined
    let last: Case | undefined
    const property = fc.asyncProperty(cases, async (found) => {
      tried += 1
      last = found
      const fault = await attempt(found)
      if (!fault || known.has(fault.kind)) return
      // A smaller case that shows another fault is another finding, and its own round will come to it.
      if (failing && failing.fault.kind !== fault.kind) return
      failing = { fault, found }
      throw new Error(fault.kind)
    })
    await fc.check(property, {
      seed: seed + round,
      numRuns: casesPerRound,
      interruptAfterTimeLimit:
        'ms' in until ? Math.max(1, until.ms - performance.now()) + SHRINK_MS : 600_000,
    })
    if (failing) report(failing.fault, seed + round, failing.found)
    for (const fault of (await afterRound?.()) ?? [])
      if (last !== undefined) report(fault, seed + round, last)
  }
  return { cases: tried, findings }
}

function isOpen(until: Rounds<unknown>['until'], round: number): boolean {
  return 'ms' in until ? performance.now() < until.ms : round < until.rounds
}
