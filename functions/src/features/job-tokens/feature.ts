import { tokenRoute } from './token-route.ts'

/** Short-lived tokens for workflows that act for a user. */
export const jobTokens = {
  name: 'job-tokens',
  routes: (parts: Parameters<typeof tokenRoute>[0]) => [tokenRoute(parts)],
}
