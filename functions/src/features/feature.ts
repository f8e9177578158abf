import type { FeatureSteps } from '../calls/pipeline/steps.ts'
import type { TableRow } from '../http/route.ts'
import { readVariables, type Table, type VariableValues } from '../settings/variables.ts'

/**
 * The descriptor of a feature. `Needs` are parts of the host or of the features before it. `Gives` are the feature's own parts.
 */
export type Feature<Needs, Gives, Settings extends Table, Steps extends Partial<FeatureSteps>> = {
  /** The name of the feature's folder. */
  readonly name: string
  /** The variables of the environment that the feature reads. `create` gets their values as `settings`. */
  readonly settings?: Settings
  /** Makes the parts of the feature. Later features get them under their names. */
  readonly create?: (parts: Needs & { readonly settings: VariableValues<Settings> }) => Gives
  /** The steps that the feature adds to every call. Their names are slots in `calls/pipeline/steps.ts`, which orders them. */
  readonly steps?: (parts: Needs & Gives) => Steps
  /** The routes that the feature serves. */
  readonly routes?: (parts: Needs & Gives) => readonly TableRow[]
  /** Ends what `create` has begun. */
  readonly close?: (parts: Needs & Gives) => void | Promise<void>
}

/** A feature without settings. */
const NO_SETTINGS = {} satisfies Table
type NoSettings = typeof NO_SETTINGS

/** A feature after `add` has checked its types. */
type Added = Feature<never, object, Table, object>

/**
 * Features in their order. `Given` are the parts of the host. `Parts` are these together with the parts of all features. If a
 * feature needs a part that nothing before it makes, the code does not compile. `Settings` are the variables of all features.
 */
export class Features<
  Given extends object,
  Parts extends Given = Given,
  Settings extends Table = NoSettings,
> {
  /** The variables of all features. */
  readonly settings: Settings
  readonly #features: readonly Added[]

  private constructor(features: readonly Added[]) {
    this.#features = features
    this.settings = Object.assign({ ...NO_SETTINGS }, ...features.map(({ settings }) => settings)) as Settings
  }

  static of<Given extends object>(): Features<Given> {
    return new Features([])
  }

  add<
    Gives extends object = object,
    Own extends Table = NoSettings,
    Steps extends Partial<FeatureSteps> = object,
  >(
    feature: Feature<Parts, Gives, Own, Steps>,
  ): Features<Given, Parts & Gives & { readonly steps: Steps }, Settings & Own> {
    return new Features([...this.#features, feature])
  }

  /** Creates all features from the parts of a host. If the host does not give a setting, its default is used. */
  create(given: Given, settings: Partial<VariableValues<Settings>> = {}): Parts {
    const { values } = readVariables<Table>(this.settings, [])
    const steps = {}
    const parts = { ...given, settings: { ...values, ...settings }, steps }
    for (const { create, steps: own } of this.#features) {
      Object.assign(parts, create?.(parts as never))
      Object.assign(steps, own?.(parts as never))
    }
    return parts as unknown as Parts
  }

  /** Makes a new table with the routes of all features. Each table has its own caches. */
  table(parts: Parts): readonly TableRow[] {
    return this.#features.flatMap(({ routes }) => routes?.(parts as never) ?? [])
  }

  /** Closes all features, the last one first. */
  async close(parts: Parts): Promise<void> {
    for (const { close } of this.#features.toReversed()) await close?.(parts as never)
  }
}
