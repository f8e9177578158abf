/** Where a runner takes requests, and what tells it that they are this service's. */
export type RunnerAddress = {
  readonly url: string
  /** The secret of its start, the same with every request. */
  readonly secret?: string | undefined
  /** In its place where Google lets callers in, asked for with each request. Rejects with an Error whose message says what is missing. */
  readonly idToken?: (() => Promise<string>) | undefined
}

/** What a request shows of itself; or there is nothing to show, and `how` goes behind "The runner". */
export type Credential = { readonly headers: { readonly Authorization?: string } } | { readonly how: string }

export async function credentialFor({ secret, idToken }: RunnerAddress): Promise<Credential> {
  if (!idToken) return { headers: secret === undefined ? {} : bearer(secret) }
  try {
    return { headers: bearer(await idToken()) }
  } catch (error) {
    return { how: `was not asked, for ${(error as Error).message}` }
  }
}

function bearer(token: string): { readonly Authorization: string } {
  return { Authorization: `Bearer ${token}` }
}

/** What a 401 or a 403 means at an address, to go behind "The runner". */
export function refusalBy({ idToken }: RunnerAddress, httpStatus: number): string {
  if (!idToken) return 'refuses the secret of this service'
  return httpStatus === 401
    ? 'takes no ID token that is for its address: RUNNER_URL must be the one that Cloud Run gave it'
    : "does not let this service's account in: give it roles/run.invoker on the runner's service"
}
