import { put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { isText, object } from '../../value-shape.ts'

/** The use of one user's tools, as it is kept. `text` is what `usageText` writes. */
export type KeptUsage = {
  /** The UTC day for which the use is kept, such as `2026-03-31`. */
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
   * Keeps the use, unless the use of the same or a later day is already kept. Returns the use that is kept. So all instances
   * agree on the use of a day, whichever of them counts first.
   */
  keepFirst = (uid: string, usage: KeptUsage): Promise<KeptUsage> =>
    this.#documents.change(uid, [NEWEST], ([kept]) =>
      kept && kept.fields.day >= usage.day
        ? { result: kept.fields }
        : { result: usage, writes: [put(NEWEST, usage)] },
    )
}
