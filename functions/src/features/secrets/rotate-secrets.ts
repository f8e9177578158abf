import { SECRETS_MAX } from './secret.ts'
import { newSecretKey, type SecretKeys } from './secret-keys.ts'
import type { SecretStore } from './secret-store.ts'

/** What a rotation has done. `unreadable` secrets were sealed with a key that is missing. */
export type Rotation = {
  readonly key: string
  readonly resealed: number
  readonly unreadable: number
  /** True if only the new key is left. False if the operator has to remove the others. */
  readonly isDone: boolean
}

type Parts = {
  readonly keys: SecretKeys
  readonly store: SecretStore
  /** Called before each step. Tests end the rotation here. */
  readonly before?: (step: string) => void
}

/**
 * Seals all secrets with a new key. The new key is added first, and the old one dropped last, so nothing is lost if the rotation
 * is killed. The next rotation ends it, without one more key. Where the operator keeps the keys, their first key is the new one.
 */
export async function rotateSecrets({ keys, store, before = () => undefined }: Parts): Promise<Rotation> {
  if (keys.areKept && keys.all.length === 1) {
    before('add the key')
    keys.replace([newSecretKey(), ...keys.all])
  }
  const { first } = keys
  before('note the key')
  await store.noteKey(first)
  await store.writesEnded()
  const counts = { resealed: 0, present: 0, unreadable: 0 }
  for await (const owner of store.owners())
    for (const { name } of await store.page(owner, SECRETS_MAX)) {
      before(`seal ${name}`)
      counts[await store.reseal(owner, name)] += 1
    }
  const { resealed, unreadable } = counts
  if (unreadable > 0) return { key: first.id, resealed, unreadable, isDone: false }
  before('forget the other keys')
  await store.forgetOtherKeys(first)
  if (keys.areKept) {
    before('drop the other keys')
    keys.replace([first])
  }
  before('end')
  return { key: first.id, resealed, unreadable, isDone: keys.all.length === 1 }
}
