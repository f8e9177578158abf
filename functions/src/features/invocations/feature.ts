import { invocationRoutes } from './invocation-routes.ts'

/** What the calls of a user were, and what they printed. */
export const invocations = { name: 'invocations', routes: invocationRoutes }
