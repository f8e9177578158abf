import { readdirSync } from 'node:fs'
import type { RouteCase, RouteCases } from './route-cases.ts'
import { ROOT } from './source-tree.ts'

const FEATURES = new URL('test/functions/features/', ROOT)

/** The cases of all features that have some. */
export const ROUTE_CASES: readonly RouteCases[] = await Promise.all(
  readdirSync(FEATURES)
    .filter((name) => readdirSync(new URL(name, FEATURES)).includes('route-cases.ts'))
    .map(async (name) => {
      const { href } = new URL(`${name}/route-cases.ts`, FEATURES)
      return ((await import(href)) as { readonly ROUTE_CASES: RouteCases }).ROUTE_CASES
    }),
)

/** One fact of each case, by route. */
export function ofEachRoute<Fact>(fact: (of: RouteCase) => Fact): Readonly<Record<string, Fact>> {
  const routes = ROUTE_CASES.flatMap((cases) => Object.entries(cases.routes))
  return Object.fromEntries(routes.map(([route, of]) => [route, fact(of)]))
}
