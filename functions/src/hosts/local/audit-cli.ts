import { isUtf8 } from 'node:buffer'
import { createReadStream, openSync, readSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { headText, TrailVerifier } from '../../features/audit/verify-trail.ts'
import { harmless } from '../../log.ts'
import { auditFileLines } from '../../stores/sqlite/audit-file-lines.ts'

const LINE_FEED = 10

/**
 * The program of `npm run audit -- verify <file>`. It verifies an export, a file of TOOLRACK_AUDIT_LOG_PATH, or a copy of
 * `audit.sqlite`, without a server. The exit code is 0 if the trail is valid, else 1.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'public-key': { type: 'string' },
    head: { type: 'string', multiple: true },
    part: { type: 'boolean' },
  },
})
const [, path = ''] = positionals
const { 'public-key': publicKey, head: heads = [], part: isPart = false } = values

try {
  const verifier = new TrailVerifier({ publicKey, heads, isPart })
  for await (const line of linesOf(path)) verifier.take(line)
  report(verifier.end())
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  fail(`${path} cannot be read (${code ?? message})`)
}

function linesOf(file: string): Iterable<string> | AsyncIterable<string> {
  if (isDatabase(file)) return auditFileLines(file)
  return textLines(createReadStream(file))
}

/** The lines of the bytes. Only a line feed ends a line, because texts in a record may contain other line separators. */
async function* textLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes) {
    rest = Buffer.concat([rest, chunk])
    let from = 0
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED, from)) {
      yield textOf(rest.subarray(from, end))
      from = end + 1
    }
    rest = rest.subarray(from)
  }
  if (rest.length > 0) yield textOf(rest)
}

/**
 * The text of a line. A line that is not UTF-8 is damaged. With replacement characters it could become equal to a valid text, so
 * it becomes a text that is not valid.
 */
function textOf(line: Buffer): string {
  return isUtf8(line) ? line.toString() : 'not UTF-8'
}

function isDatabase(file: string): boolean {
  const start = Buffer.alloc(15)
  readSync(openSync(file, 'r'), start)
  return start.toString('latin1') === 'SQLite format 3'
}

function report({
  fault,
  records,
  erased,
  manifests,
  publicKey: key,
  heads: found,
  manifestHead,
}: ReturnType<TrailVerifier['end']>): void {
  if (fault) return fail(`line ${fault.line}: ${fault.place}${fault.place && ': '}${fault.reason}`)
  say(`${records} records are unchanged, ${erased} of them with their content erased`)
  if (records === 0) return fail('the file holds no record')
  say(
    key === null
      ? 'no day has a signed manifest'
      : `${manifests} days have a manifest, signed by the key ${key}${publicKey === undefined ? ' (say --public-key to require it)' : ''}`,
  )
  say(
    'The end of a chain can be cut off without a trace, unless its head is kept elsewhere. Heads of the manifests and chains:',
  )
  if (manifestHead !== null) say(manifestHead)
  for (const head of found) say(headText(head))
}

function say(line: string): void {
  console.log(harmless(line))
}

function fail(line: string): void {
  console.error(harmless(line))
  process.exitCode = 1
}
