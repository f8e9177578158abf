// Serves one address for two services, while you move from the original tools service to Toolrack: the paths that have moved go to
// Toolrack, all others to the original service. It needs Node 20 or newer, and no packages.
//
//   TOOLRACK_URL=http://127.0.0.1:8787 ORIGINAL_URL=https://tools.example PORT=8080 node moving-proxy.mjs
//
// Requests and answers pass unchanged, also the header Authorization: both services check tokens themselves.
import { createServer, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream'

const { TOOLRACK_URL, ORIGINAL_URL, HOST = '127.0.0.1', PORT = '8080' } = process.env
for (const [name, value] of Object.entries({ TOOLRACK_URL, ORIGINAL_URL }))
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    end(`${name} must be the address of a service, such as https://tools.example.`)
if (!(Number(PORT) >= 0 && Number(PORT) < 65_536)) end('PORT must be a number from 0 to 65535.')

/** The paths that Toolrack answers. Remove what you have not moved yet; `agents` also keeps the agents of sessions. */
const MOVED = /^\/(?:(?:jobs|workflows)\/(?:tools|agents|jobs\/tokens)|agents)(?:[/?]|$)/

/** Headers that are about one connection and not about the request. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const proxy = createServer((req, res) => {
  const isMoved = MOVED.test(req.url)
  const target = new URL(isMoved ? TOOLRACK_URL : ORIGINAL_URL)
  const send = target.protocol === 'https:' ? requestHttps : requestHttp
  const sent = send(target, {
    method: req.method,
    path: target.pathname.replace(/\/$/, '') + req.url,
    headers: { ...passed(req.headers), host: target.host },
  })
  sent.on('response', (answer) => {
    res.writeHead(answer.statusCode, passed(answer.headers))
    // If one side ends early, the other is ended too.
    pipeline(answer, res, () => undefined)
  })
  sent.on('error', ({ code }) => {
    if (res.headersSent) {
      res.destroy()
      return
    }
    const service = isMoved ? 'Toolrack (TOOLRACK_URL)' : 'the original service (ORIGINAL_URL)'
    const error = `The proxy cannot reach ${service}: ${code}. Start it, or correct the address.`
    res.writeHead(502, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }))
  })
  // A caller who has left ends the call that runs for it.
  res.on('close', () => sent.destroy())
  pipeline(req, sent, () => undefined)
})

function passed(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)))
}

function end(message) {
  console.error(message)
  process.exit(1)
}

proxy.on('error', ({ code }) =>
  end(`The proxy cannot use ${HOST}, port ${PORT}: ${code}. Choose others with HOST and PORT.`),
)
proxy.listen(Number(PORT), HOST, () => console.log(`The proxy is at http://${HOST}:${proxy.address().port}`))
