import { hashedAlias, plainAlias } from '@toolrack/contract'
import { sha256Hex } from './sha256.ts'

/** Makes the alias of a tool's name. If the alias needs a hash and there is no WebCrypto, throws CRYPTO_MISSING. */
export async function aliasOf(name: string): Promise<string> {
  return plainAlias(name) ?? hashedAlias(name, await sha256Hex(name))
}

/**
 * Finds items by the name or the alias of their tool. Names are compared before aliases. If two names have the same alias, the
 * alias stands for the name that is first in alphabetical order.
 */
export class ByName<T> {
  readonly #known = new Map<string, T>()
  /**
   * The names whose aliases contain a hash, and the text before the hash in each alias. A hash is computed only when it is
   * needed.
   */
  readonly #unhashed: { readonly start: string; readonly name: string }[] = []
  readonly #aliases = new Map<string, Promise<string>>()

  constructor(entries: readonly (readonly [name: string, item: T])[]) {
    // The entries are added in reverse order. So if two names have the same alias, it belongs to the first of them.
    for (const [name, item] of entries.toSorted(([a], [b]) => (a < b ? 1 : -1))) {
      const alias = plainAlias(name)
      if (alias === undefined) this.#unhashed.unshift({ start: hashedAlias(name, ''), name })
      else this.#known.set(alias, item)
    }
    for (const [name, item] of entries) this.#known.set(name, item)
  }

  /** The alias of a name. It is computed only once. Throws CRYPTO_MISSING if there is no WebCrypto. */
  aliasOf(name: string): Promise<string> {
    const alias = this.#aliases.get(name) ?? aliasOf(name)
    this.#aliases.set(name, alias)
    return alias
  }

  /** Finds an item by its name, or by an alias without a hash. */
  get(name: string): T | undefined {
    return this.#known.get(name)
  }

  /** Finds an item by its name or, if there is none, by its alias. Throws CRYPTO_MISSING if there is no WebCrypto. */
  async find(nameOrAlias: string): Promise<T | undefined> {
    const known = this.#known.get(nameOrAlias)
    if (known) return known
    for (const { start, name } of this.#unhashed)
      if (nameOrAlias.startsWith(start) && (await this.aliasOf(name)) === nameOrAlias)
        return this.#known.get(name)
    return undefined
  }
}
