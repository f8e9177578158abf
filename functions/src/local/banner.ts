import { VERSION } from '../version.ts'

type Served = {
  readonly url: string
  readonly token: string | undefined
  readonly withoutRunner?: string | undefined
}

/** What `npm start` prints when the server is ready: where it is, what is missing, the local token if there is one, and lines to copy. */
export function banner({ url, token, withoutRunner }: Served, readyMs: number): string {
  const head = `Toolrack ${VERSION} is ready at ${url} (${Math.round(readyMs)} ms)`
  const missing = withoutRunner === undefined ? '' : `\nPython tools do not run here. ${withoutRunner}\n`
  if (token === undefined)
    return `\n${head}\nUsers come with Firebase ID tokens, and no local token is good here.\n${missing}\nCtrl-C stops the server.\n`
  const auth = `-H 'Authorization: Bearer ${token}'`
  const definition =
    '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'
  return `
${head}
token: ${token}
${missing}
List the tools, define one, and list it again:

  curl ${auth} ${url}/workflows/tools/list
  curl ${auth} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  curl ${auth} '${url}/workflows/tools/list?names=SAY_HELLO'

Ctrl-C stops the server.
`
}
