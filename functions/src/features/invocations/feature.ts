import { invocationRoutes } from './invocation-routes.ts'

/** The history of a user's calls, with what the tools have printed. */
export const invocations = { name: 'invocations', routes: invocationRoutes }
