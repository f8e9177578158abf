import { VERSION } from '../version.ts'

/** What `npm start` prints when the server is ready: where it is, the local token if there is one, and three lines to copy. */
export function banner(url: string, token: string | undefined, readyMs: number): string {
  const head = `Toolrack ${VERSION} is ready at ${url} (${Math.round(readyMs)} ms)`
  if (token === undefined)
    return `\n${head}\nUsers come with Firebase ID tokens, and no local token is good here.\n\nCtrl-C stops the server.\n`
  const auth = `-H 'Authorization: Bearer ${token}'`
  const definition =
    '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'
  return `
${head}
token: ${token}

List the tools, define one, and list it again:

  curl ${auth} ${url}/workflows/tools/list
  curl ${auth} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  curl ${auth} '${url}/workflows/tools/list?names=SAY_HELLO'

Ctrl-C stops the server.
`
}
