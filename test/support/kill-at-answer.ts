import { ServerResponse } from 'node:http'

// Loaded by a server before its own code. It ends the server as `kill -9` does, in place of its n-th answer to a call.

delete process.env['NODE_OPTIONS']
let left = Number(process.env['KILL_AT_ANSWER'])

type End = (this: ServerResponse, ...given: never[]) => unknown
const response = ServerResponse.prototype as { end: End }
const end: End = Reflect.get(response, 'end')
response.end = function (...given) {
  if (this.req.url === '/workflows/tools/invoke') {
    left -= 1
    if (left < 0) process.kill(process.pid, 'SIGKILL')
  }
  return end.apply(this, given)
}
