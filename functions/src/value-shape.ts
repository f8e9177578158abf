import { isJsonObject } from '@toolrack/contract'

/** Says whether a value from outside the service has the type `T`. */
export type Test<T> = (value: unknown) => value is T

export const isText: Test<string> = (value) => typeof value === 'string'
export const isNull: Test<null> = (value) => value === null

/** A test for objects with these fields. An object may have other fields too. */
export function object<T extends object>(fields: {
  readonly [K in keyof Required<T>]: Test<T[K]>
}): Test<T> {
  const tests = Object.entries<Test<unknown>>(fields)
  return (value): value is T => isJsonObject(value) && tests.every(([key, test]) => test(value[key]))
}

export function listOf<T>(test: Test<T>): Test<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((item) => test(item))
}

/** A test for objects whose keys can be any. `test` is for their values. */
export function recordOf<T>(test: Test<T>): Test<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isJsonObject(value) && Object.values(value).every((item) => test(item))
}

export function either<A, B>(one: Test<A>, other: Test<B>): Test<A | B> {
  return (value): value is A | B => one(value) || other(value)
}
