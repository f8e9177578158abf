import type { TableRow } from '../http/route.ts'

/** What a feature adds to the service. `Needs` are parts of the host or of the features before it, and `Gives` are its own. */
export type Feature<Needs, Gives> = {
  /** The name of its folder. */
  readonly name: string
  /** Makes its own parts, which later features can use by their names. */
  readonly create?: (parts: Needs) => Gives
  /** The routes that it serves. */
  readonly routes?: (parts: Needs & Gives) => readonly TableRow[]
  /** Ends what `create` has begun. */
  readonly close?: (parts: Needs & Gives) => void | Promise<void>
}

/** A feature whose types were checked by `add`. */
type Added = Feature<never, object>

/**
 * Features in their order. `Given` are the parts of the host, and `Parts` those with the parts of all features. A feature whose needs
 * nothing before it fulfils does not compile.
 */
export class Features<Given extends object, Parts extends Given = Given> {
  readonly #features: readonly Added[]

  private constructor(features: readonly Added[]) {
    this.#features = features
  }

  static of<Given extends object>(): Features<Given> {
    return new Features([])
  }

  add<Gives extends object>(feature: Feature<Parts, Gives>): Features<Given, Parts & Gives> {
    return new Features([...this.#features, feature])
  }

  /** Creates all features over the parts of a host. */
  create(given: Given): Parts {
    const parts = { ...given }
    for (const { create } of this.#features) Object.assign(parts, create?.(parts as never))
    return parts as Parts
  }

  /** A new table with the routes of all features. Each table has caches of its own. */
  table(parts: Parts): readonly TableRow[] {
    return this.#features.flatMap(({ routes }) => routes?.(parts as never) ?? [])
  }

  /** Closes all features, the last one first. */
  async close(parts: Parts): Promise<void> {
    for (const { close } of this.#features.toReversed()) await close?.(parts as never)
  }
}
