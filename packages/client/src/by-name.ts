import { hashedAlias, plainAlias } from '@toolrack/contract'
import { aliasOf } from './alias.ts'

/** What has the names of tools. An alias means the first that has it, in the order of the names, unless it is itself a name. */
export class ByName<T> {
  readonly #known = new Map<string, T>()
  /** Those whose alias takes a hash, which is made when it is asked for, by how that alias begins. */
  readonly #unhashed: { readonly start: string; readonly name: string }[] = []
  readonly #aliases = new Map<string, Promise<string>>()

  constructor(entries: readonly (readonly [name: string, item: T])[]) {
    // Backwards, so that the first stays.
    for (const [name, item] of entries.toSorted(([a], [b]) => (a < b ? 1 : -1))) {
      const alias = plainAlias(name)
      if (alias === undefined) this.#unhashed.unshift({ start: hashedAlias(name, ''), name })
      else this.#known.set(alias, item)
    }
    for (const [name, item] of entries) this.#known.set(name, item)
  }

  /** The alias of a name, hashed once. Throws CRYPTO_MISSING, if it takes a hash. */
  aliasOf(name: string): Promise<string> {
    const alias = this.#aliases.get(name) ?? aliasOf(name)
    this.#aliases.set(name, alias)
    return alias
  }

  /** By the exact name, or an alias that takes no hash. */
  get(name: string): T | undefined {
    return this.#known.get(name)
  }

  /** By the exact name, else by the alias. Throws CRYPTO_MISSING, if that takes a hash. */
  async find(nameOrAlias: string): Promise<T | undefined> {
    const known = this.#known.get(nameOrAlias)
    if (known) return known
    for (const { start, name } of this.#unhashed)
      if (nameOrAlias.startsWith(start) && (await this.aliasOf(name)) === nameOrAlias)
        return this.#known.get(name)
    return undefined
  }
}
