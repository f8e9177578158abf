const password = 'secret'

/** The emulator accepts this header in place of an administrator's credentials. */
const owner = { Authorization: 'Bearer owner' }

/**
 * Signs a user in to the Auth emulator, and creates the user if the address is new.
 * @param {string} host
 * @param {string} email
 * @returns {Promise<{ uid: string, idToken: string }>}
 */
export async function signIn(host, email) {
  const account = { email, password, returnSecureToken: true }
  const known = await post(host, 'v1/accounts:signInWithPassword?key=any', account)
  const { localId, idToken } = known ?? (await post(host, 'v1/accounts:signUp?key=any', account))
  return { uid: localId, idToken }
}

/**
 * Signs a user in with custom claims, which the token then contains.
 * @param {string} host
 * @param {string} project
 * @param {string} email
 * @param {Readonly<Record<string, unknown>>} claims
 */
export async function signInWithClaims(host, project, email, claims) {
  const { uid } = await signIn(host, email)
  const change = { localId: uid, customAttributes: JSON.stringify(claims) }
  await post(host, `v1/projects/${project}/accounts:update`, change, owner)
  return signIn(host, email)
}

/** The JSON of the answer; undefined if the emulator does not know the user. */
async function post(host, path, body, headers = {}) {
  const answer = await fetch(`http://${host}/identitytoolkit.googleapis.com/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const json = await answer.json()
  if (answer.ok) return json
  if (/^(?:EMAIL_NOT_FOUND|INVALID_LOGIN_CREDENTIALS)/.test(json.error?.message)) return undefined
  throw new Error(`the Auth emulator answered ${path} with an error: ${JSON.stringify(json)}`)
}
