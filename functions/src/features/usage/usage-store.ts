import { put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { isText, object } from '../../value-shape.ts'

/** The use of one user's tools on a day, as the store keeps it. `text` is made by `usageText`. */
export type KeptUsage = {
  /** The UTC day on which the use was computed, such as `2026-03-31`. */
  readonly day: string
  readonly text: string
}

const USAGE: Collection<KeptUsage> = {
  name: 'usage',
  owner: 'user',
  fields: object<KeptUsage>({ day: isText, text: isText }),
}
const NEWEST: Ref<KeptUsage> = { of: USAGE, key: 'newest' }

/** Keeps the newest use of each user. */
export class UsageStore {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  read = async (uid: string): Promise<KeptUsage | undefined> => {
    const [kept] = await this.#documents.read(uid, [NEWEST])
    return kept?.fields
  }

  /**
   * Keeps the use, unless that of the same or a later day is already kept. Returns the use that is kept. So if several instances
   * compute the use of a day, all of them use the first result.
   */
  keepFirst = (uid: string, usage: KeptUsage): Promise<KeptUsage> =>
    this.#documents.change(uid, [NEWEST], ([kept]) =>
      kept && kept.fields.day >= usage.day
        ? { result: kept.fields }
        : { result: usage, writes: [put(NEWEST, usage)] },
    )
}
