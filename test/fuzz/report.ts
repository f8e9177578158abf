import type { RoundsOutcome } from './rounds.ts'

/** A case may hold a megabyte; more than this is told by its length. */
const SHOWN_MAX = 400

/** Prints what was tried and what was found, and sets the exit code: 1 where something was. */
export function report<Case>(
  kind: string,
  { cases, findings, numbers }: RoundsOutcome<Case> & { readonly numbers: Readonly<Record<string, number>> },
  seed: number,
): void {
  console.log(`${kind}: seed ${seed}, ${cases} cases, ${findings.length} findings`)
  for (const [what, number] of Object.entries(numbers).toSorted(([a], [b]) => a.localeCompare(b)))
    console.log(`  ${what}: ${number}`)
  for (const { kind: what, detail, seed: found, found: smallest } of findings) {
    console.log(`\nfound: ${what}\n  ${detail}\n  the case: ${JSON.stringify(smallest, shortened)}`)
    console.log(`  again: npm run fuzz -- ${kind} --seed ${found}`)
  }
  if (findings.length > 0) process.exitCode = 1
}

function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > SHOWN_MAX
    ? `${value.slice(0, SHOWN_MAX)}… (${value.length} characters)`
    : value
}
