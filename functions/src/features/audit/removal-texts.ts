import type { AuditStore } from './audit-store.ts'
import type { AuditEvent } from './record.ts'

/** The principal for acts of the service itself. */
const SERVICE = { kind: 'service', uid: 'service' } as const

/** The event of the removal of old days. `before` is the first day that is kept. */
export function retentionOf(before: string, removed: readonly string[]): AuditEvent {
  return { kind: 'retention', principal: SERVICE, outcome: 'ok', subject: { before, removed } }
}

/** How many records are read at once. */
const PAGE_RECORDS = 1_000

/**
 * The records that name removed content. These are all erasures and, if nothing is left of the day (`isGone`), also the records
 * of retention.
 */
export async function* removalTexts(
  store: Pick<AuditStore, 'erasures' | 'page'>,
  isGone: boolean,
): AsyncGenerator<string> {
  yield* await store.erasures()
  let before: string | undefined
  do {
    if (!isGone) return
    const page = await store.page({ uid: SERVICE.uid, limit: PAGE_RECORDS, before })
    yield* page.texts
    before = page.before
  } while (before !== undefined)
}
