/** People of the Auth emulator, made and signed in through its REST API as an app's client would. */
const password = 'secret'

/** The emulator's word for whoever may do anything. */
const owner = { Authorization: 'Bearer owner' }

/** Signs somebody in, and up before if nobody of that address is known: `{ uid, idToken }`. */
export async function signIn(host, email) {
  const account = { email, password, returnSecureToken: true }
  const known = await ask(host, 'v1/accounts:signInWithPassword?key=any', account)
  const { localId, idToken } = known ?? (await ask(host, 'v1/accounts:signUp?key=any', account))
  return { uid: localId, idToken }
}

/** Signs somebody in with custom claims; they are in the token that is given back. */
export async function signInWithClaims(host, project, email, claims) {
  const { uid } = await signIn(host, email)
  const change = { localId: uid, customAttributes: JSON.stringify(claims) }
  await ask(host, `v1/projects/${project}/accounts:update`, change, owner)
  return signIn(host, email)
}

/** Undefined when the emulator does not know the person; any other refusal is a fault of ours. */
async function ask(host, path, body, headers = {}) {
  const answer = await fetch(`http://${host}/identitytoolkit.googleapis.com/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const told = await answer.json()
  if (answer.ok) return told
  if (/^(?:EMAIL_NOT_FOUND|INVALID_LOGIN_CREDENTIALS)/.test(told.error?.message)) return undefined
  throw new Error(`the Auth emulator refused ${path}: ${JSON.stringify(told)}`)
}
