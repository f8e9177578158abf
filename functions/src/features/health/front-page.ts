import type { PublicRoute } from '../../http/route.ts'
import { publicHealth, type PublicHealth, type PublicHealthParts } from './health-route.ts'

const HEADERS = {
  'Cache-Control': 'private, no-cache',
  // The policy of firebase.json, which Hosting sends too: the page loads nothing, runs nothing and is shown in no frame.
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const

/**
 * `GET /`: says what this service is, whether it works, and where the documents are. Browsers get a page, other clients a text.
 */
export function frontPageRoute(parts: PublicHealthParts): PublicRoute {
  return {
    method: 'GET',
    path: '/',
    schemas: async () => (await import('./health-schemas.ts')).FRONT_PAGE,
    isRoot: true,
    action: 'anybody',
    async handle({ req, res }) {
      const isBrowser = /\btext\/html\b/i.test(req.headers.accept ?? '')
      const health = await publicHealth(parts)
      const body = Buffer.from(isBrowser ? htmlOf(health) : textOf(health))
      const type = `text/${isBrowser ? 'html' : 'plain'}; charset=utf-8`
      // CORS may have set Vary already.
      res.appendHeader('Vary', 'Accept')
      res
        .writeHead(200, { ...HEADERS, 'Content-Type': type, 'Content-Length': String(body.length) })
        .end(body)
    },
  }
}

const WHAT = 'The tool control plane for LLM agents and workflows: tools are defined, listed and called here.'
const USE = 'It answers programs. Every address except / and /health needs a token.'
const WHERE = 'The documents are in the repository of this service:'
const DOCUMENTS = [
  ['README.md', 'how to begin'],
  ['docs/reference/http.md', 'every route'],
  ['docs/how-to/write-a-tool.md', 'how to write Python tools'],
  ['docs/how-to/use-from-an-app.md', 'how to use it from an app'],
  ['docs/how-to/run.md', 'what to do if something does not work'],
] as const

function stateOf({ status }: PublicHealth): string {
  return status === 'ok'
    ? 'It works.'
    : 'It works only in part. GET /health with a token says what is missing.'
}

function pythonOf({ isolation }: PublicHealth): string {
  return isolation === 'L0'
    ? 'Python tools do not run now. GET /health with a token says why.'
    : `Python tools run at isolation ${isolation}.`
}

function textOf(health: PublicHealth): string {
  const width = Math.max(...DOCUMENTS.map(([path]) => path.length))
  const documents = DOCUMENTS.map(([path, what]) => `  ${path.padEnd(width)} ${what}`)
  return `Toolrack ${health.version}
${WHAT}

${stateOf(health)}
${pythonOf(health)}

${USE}
${WHERE}

${documents.join('\n')}
`
}

/** The page as HTML. It contains no text from outside, so nothing must be escaped. */
function htmlOf(health: PublicHealth): string {
  const documents = DOCUMENTS.map(([path, what]) => `  <li><code>${path}</code>: ${what}</li>`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Toolrack</title>
<h1>Toolrack ${health.version}</h1>
<p>${WHAT}</p>
<p><strong>${stateOf(health)}</strong> ${pythonOf(health)}</p>
<p>${USE}</p>
<p>${WHERE}</p>
<ul>
${documents.join('\n')}
</ul>
</html>
`
}
