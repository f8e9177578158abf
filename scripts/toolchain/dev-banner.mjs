const definition =
  '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'

function as(token) {
  return `curl -H "Authorization: Bearer $${token}"`
}

/** What `npm run dev` prints when everything is ready: where it is, who may come, and lines to copy. */
export function devBanner({ hosting, user, admin, health, missing }) {
  const url = `http://${hosting}`
  return `
Toolrack on the Firebase emulators is ready at ${url}

  T='${user.idToken}'
  A='${admin.idToken}'

$T is user@example.com, $A admin@example.com, who may write the global layer; both tokens last for an hour.
${pythonTools(health, missing)}
List the tools, define one, and list it again:

  ${as('T')} ${url}/workflows/tools/list
  ${as('T')} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  ${as('T')} '${url}/workflows/tools/list?names=SAY_HELLO'
  ${as('A')} -X PUT -d '${definition}' '${url}/workflows/tools/defs/SAY_HELLO?layer=global'

Upload a Python file and call its tool:

  ${as('T')} -T docs/examples/weather.py ${url}/workflows/tools/modules/weather
  ${as('T')} -d '{"name":"weather:get_report","arguments":{"location":"Bern"}}' ${url}/workflows/tools/invoke

A change of a source or definition file is served with the next request. Ctrl-C stops everything.
`
}

function pythonTools({ status, isolation, reason = 'The functions do not answer.' } = {}, missing) {
  if (status === 'ready') return `Python tools run beside them, at isolation ${isolation}.`
  return `Python tools do not run ${status === 'starting' ? 'yet' : 'here'}. ${missing ?? reason}`
}
