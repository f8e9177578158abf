import fc from 'fast-check'
import { likelyNames, NAMES, PARAMETERS } from './examples.ts'
import { ENCODED, oddText } from './odd-bytes.ts'

/** What follows the `?` of a target. */
const oddQuery: fc.Arbitrary<string> = fc
  .array(
    fc
      .tuple(
        fc.constantFrom(...Object.keys(PARAMETERS), 'nmae', '__proto__', ''),
        fc.constantFrom('', '[]', '[0]', '[a][b]', '.x', '%5B%5D'),
        fc.nat(20),
        fc.option(oddText, { freq: 3 }),
      )
      .map(([name, suffix, index, odd]) => {
        const values = PARAMETERS[name] ?? ['x']
        const value = odd === null ? (values[index % values.length] ?? '') : odd
        return `${name}${index % 4 === 0 ? suffix : ''}${odd === '' ? '' : `=${value.replaceAll(/[ #\r\n\t]/g, '+')}`}`
      }),
    { maxLength: 4 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&')}`))

/** The query that a route most likely takes: often none, so that requests get beyond it. */
function likelyQuery(address: string): fc.Arbitrary<string> {
  const names = fc.constantFrom(...NAMES).map((name) => `?name=${name}`)
  const usual = address.endsWith('/explain') ? names : fc.constant('')
  return fc.oneof(
    { weight: 12, arbitrary: usual },
    { weight: 1, arbitrary: fc.constantFrom('?layer=user', '?layer=global', '?layer=file') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('?name=hers', '?names=hers,ECHO', '?onInvalid=skip', '?dialect=gemini'),
    },
    { weight: 2, arbitrary: oddQuery },
  )
}

type Change = { readonly at: number; readonly kind: string; readonly text: string }
const CHANGES = [
  'insert',
  'encode',
  'double slash',
  'dot',
  'dots',
  'upper',
  'slash',
  'cut',
  'backslash',
  'absolute',
  'long',
]

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(200),
  kind: fc.constantFrom(...CHANGES),
  text: fc.oneof(oddText, fc.constantFrom(...ENCODED)),
})

/** A path with something done to it. Blanks end a request line, so they are the business of the headers' arbitrary. */
function changed(path: string, { at, kind, text }: Change): string {
  const place = at % (path.length + 1)
  const [before, after] = [path.slice(0, place), path.slice(place)]
  const insert = (what: string): string => before + what.replaceAll(/[ \r\n\t\0]/g, '+') + after
  if (kind === 'insert') return insert(text)
  if (kind === 'encode') return before + hex(after[0] ?? '') + after.slice(1)
  if (kind === 'double slash')
    return path.replaceAll('/', (slash, index) => (index % 2 === at % 2 ? '//' : slash))
  if (kind === 'dot') return insert('/./')
  if (kind === 'dots') return insert('/../')
  if (kind === 'upper') return path.toUpperCase()
  if (kind === 'slash') return `${path}/`
  if (kind === 'cut') return before === '' ? '/' : before
  if (kind === 'backslash') return insert('\\')
  if (kind === 'absolute') return `http://fuzz${path}`
  return insert('l'.repeat(at * at * 3))
}

function hex(char: string): string {
  return char === '' ? '' : `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}

/** A target that leads to the address, or almost. */
export function oddTarget(address: string): fc.Arbitrary<string> {
  const names = fc.oneof(
    { weight: 16, arbitrary: fc.constantFrom(...likelyNames(address)) },
    { weight: 8, arbitrary: fc.constantFrom(...NAMES) },
    { weight: 1, arbitrary: fc.constantFrom(...ENCODED, 'é') },
  )
  const path = names.map((name) => address.replaceAll(/:[a-z]+/gi, name))
  const changes = fc.oneof(
    { weight: 8, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(change, { maxLength: 3 }) },
  )
  return fc
    .tuple(path, changes, likelyQuery(address))
    .map(([path, changes, query]) => `${changes.reduce(changed, path)}${query}`)
}
