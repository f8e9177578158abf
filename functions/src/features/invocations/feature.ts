import { invocationRoutes } from './invocation-routes.ts'

/** The history of a user's calls, with what they printed. */
export const invocations = { name: 'invocations', routes: invocationRoutes }
