export interface SignedIn {
  readonly uid: string
  readonly idToken: string
}
export function signIn(host: string, email: string): Promise<SignedIn>
export function signInWithClaims(
  host: string,
  project: string,
  email: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<SignedIn>
