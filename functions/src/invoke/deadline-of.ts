import type { ToolLimits } from '@toolrack/contract'

/** How long a call may take whose definition says nothing of it (design, section 11). */
const DEADLINE_MS = 30_000

/** How long a call may take: what its definition asks for, within what the platform lets a call last. */
export function deadlineOf({ timeoutSeconds }: ToolLimits, deadlineMsMax: number): number {
  const wantedMs =
    timeoutSeconds === undefined ? DEADLINE_MS : Math.max(1, Math.round(timeoutSeconds * 1_000))
  return Math.min(wantedMs, deadlineMsMax)
}
