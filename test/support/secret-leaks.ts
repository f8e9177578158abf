import { expect } from '@jest/globals'
import { join } from 'node:path'
import { everySpelling } from '../../functions/src/redaction/spellings.ts'
import { eventsOf } from './call-events.ts'
import { filesBelow } from './canaries.ts'
import { uploaded } from './modules.ts'
import { randomNumbers } from './random-numbers.ts'
import type { Server } from './server.ts'

/** A module with tools that give away a secret in every form, in every way. The tool `given` gets it as an argument instead. */
const LEAKS = `
import base64
import json
import sys
import urllib.parse

def spell(form, s):
    b = s.encode()
    quoted = urllib.parse.quote(s)
    return {
        "plain": lambda: s,
        "json": lambda: json.dumps(s, ensure_ascii=False)[1:-1],
        "ascii": lambda: json.dumps(s)[1:-1],
        "twice": lambda: json.dumps(json.dumps(s)),
        "object": lambda: json.dumps({"a": json.dumps({"b": s}, ensure_ascii=False)}, ensure_ascii=False),
        "repr": lambda: repr(s)[1:-1],
        "quote": lambda: quoted,
        "all": lambda: urllib.parse.quote(s, safe=""),
        "plus": lambda: urllib.parse.quote_plus(s),
        "lower": lambda: "".join(c.lower() if quoted[max(0, i - 2):i + 1].find("%") >= 0 else c for i, c in enumerate(quoted)),
        "query": lambda: urllib.parse.urlencode({"k": s}),
        "base64": lambda: base64.b64encode(b).decode(),
        "url64": lambda: base64.urlsafe_b64encode(b).decode(),
        "bare64": lambda: base64.urlsafe_b64encode(b).decode().rstrip("="),
        "in64": lambda: base64.b64encode(b"user:" + b + b"!").decode(),
        "in64two": lambda: base64.b64encode(b"x" + b + b"yz").decode(),
        "inurl64": lambda: base64.urlsafe_b64encode(b"xy" + b + b"z").decode(),
        "hex": lambda: b.hex(),
        "HEX": lambda: b.hex().upper(),
    }[form]()

def leak(secret, form, channel, cut, context):
    text = spell(form, secret)
    first, rest = "so " + text[:cut], text[cut:] + " it is"
    if channel in ("print", "error"):
        for part in (first, rest):
            stream = sys.stdout if channel == "print" else sys.stderr
            stream.write(part)
            stream.flush()
    if channel == "progress":
        # Of several texts at once, the runner sends only some.
        for part in (first, rest) if cut else (first + rest,):
            context.progress(0.1, part)
    if channel == "raise":
        raise ValueError(first + rest)
    return {"text": first + rest, "list": [1, [first + rest]], "key": {first + rest: 1}}.get(channel, "done")

def own(form: str, channel: str, cut: int, context: dict):
    "Gives away the stored secret."
    return leak(context["secrets"]["LEAKED"], form, channel, cut, context)

def parts(form: str, channel: str, cut: int, context: dict):
    "Gives away the stored secret in two values."
    text = spell(form, context["secrets"]["LEAKED"])
    yield "so " + text[:cut]
    yield text[cut:] + " it is"
    if channel == "values":
        yield {"also": [text]}

def given(word: str, form: str, channel: str, cut: int, context: dict):
    "Gives away an argument."
    return leak(word, form, channel, cut, context)

TOOL_SPECS = [
    {"name": "leaks:own", "handler": own, "secrets": ["LEAKED"]},
    {"name": "leaks:parts", "handler": parts, "secrets": ["LEAKED"]},
    {"name": "leaks:given", "handler": given},
]
`

const FORMS = [
  ['plain', 'json', 'ascii', 'twice', 'object', 'repr', 'quote', 'all', 'plus', 'lower', 'query'],
  ['base64', 'url64', 'bare64', 'in64', 'in64two', 'inurl64', 'hex', 'HEX'],
].flat()
const CHANNELS = ['print', 'error', 'progress', 'raise', 'text', 'list', 'key', 'part', 'values'] as const

/** The letters of secrets. Some are escaped in JSON, in addresses or in Python. */
const LETTERS = Array.from('abcdefXYZ0123456789-_.~/+=%&?"\'\\ \n\tö日')

/** The calls after which the secret is replaced by another one. */
const CALLS_PER_SECRET = 25

/** Gives a secret away `count` times, in a random form and way, and returns everything that reveals one. */
export async function leaked(server: Server, count: number, seed: number): Promise<readonly string[]> {
  const random = randomNumbers(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  await uploaded(server, 'leaks', LEAKS, { headers: server.approver })
  const found: string[] = []
  const secrets: string[] = []
  for (let at = 0; at < count; at += 1) {
    if (at % CALLS_PER_SECRET === 0) {
      secrets.push(
        `${at}z`.padStart(6, 'q') +
          Array.from({ length: 4 + random() * 40 }, () => pick(LETTERS)).join('') +
          'k',
      )
      await store(server, secrets.at(-1) ?? '')
    }
    const [form, channel] = [pick(FORMS), pick(CHANNELS)]
    const isParts = channel === 'part' || channel === 'values'
    const args = { form, channel, cut: Math.floor(random() * 12) }
    const said = await call(server, isParts ? 'leaks:parts' : 'leaks:own', args, random() < 0.5)
    const secret = secrets.at(-1) ?? ''
    if (reveals(said, secret)) found.push(`${JSON.stringify(args)} of ${JSON.stringify(secret)}: ${said}`)
  }
  // The arguments of a call have the secret too.
  const secret = secrets.at(-1) ?? ''
  await call(server, 'leaks:own', { form: 'plain', channel: 'none', cut: 0, more: secret }, false)
  const kept = await records(server)
  const places = { ...kept, terminal: server.said + server.log, files: filesBelow(join(server.data)) }
  for (const [place, text] of Object.entries(places))
    for (const one of secrets)
      for (const spelled of everySpelling(one)) if (text.includes(spelled)) found.push(`${place}: ${spelled}`)
  expect(places.calls).toContain('leaks:own')
  return found
}

/** Gives a text away in each form that the service does not know as a secret. Returns those in which `reveals` does not find it. */
export async function unfoundPlanted(server: Server): Promise<readonly string[]> {
  await uploaded(server, 'leaks', LEAKS, { headers: server.approver })
  const secret = 'planted/ö "+0123456789'
  const unfound: string[] = []
  for (const form of FORMS)
    for (const channel of ['text', 'list', 'key', 'raise', 'progress'])
      if (!reveals(await call(server, 'leaks:given', { word: secret, form, channel, cut: 0 }, true), secret))
        unfound.push(`${form} ${channel}`)
  return unfound
}

async function store(server: Server, value: string): Promise<void> {
  const body = JSON.stringify({ value })
  const answer = await server.fetch('/workflows/secrets/LEAKED', {
    method: 'PUT',
    body,
    headers: server.approver,
  })
  expect(answer.status).toBe(204)
}

/** Everything that a caller sees of a call: the answer, and the joined texts of each kind of event. */
async function call(server: Server, name: string, args: object, streams: boolean): Promise<string> {
  const answer = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name, arguments: args }),
    headers: streams ? { Accept: 'text/event-stream' } : {},
  })
  if (!streams || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text()
  const joined: Record<string, string> = {}
  let all = ''
  for await (const event of eventsOf(answer)) {
    const { type, text, value } = event
    const said = typeof value === 'string' ? value : typeof text === 'string' ? text : ''
    joined[type] = (joined[type] ?? '') + said
    all += `${JSON.stringify(event)}\n`
  }
  return [all, ...Object.values(joined)].join('\n')
}

async function records(
  server: Server,
): Promise<{ readonly calls: string; readonly audit: string; readonly logs: string }> {
  const read = async (path: string) =>
    (await server.fetch(`/workflows${path}`, { headers: server.approver })).text()
  const calls = await read('/tools/invocations?limit=1000')
  const ids = [...calls.matchAll(/"invocationId":"([0-9a-f-]{36})"/g)].map(([, id]) => id)
  const logs = await Promise.all(ids.slice(0, 200).map((id) => read(`/tools/invocations/${id}/log`)))
  return { calls, audit: await read('/audit?limit=1000'), logs: logs.join('\n') }
}

const LEVELS = 4

/** True if the text has the secret in any of the forms. This search decodes, and uses no code of the service. */
export function reveals(text: string, secret: string): boolean {
  let level = new Set([text])
  for (let depth = 0; depth < LEVELS; depth += 1) {
    if ([...level].some((one) => one.includes(secret))) return true
    level = new Set([...level].flatMap(decodings))
  }
  return false
}

function decodings(text: string): readonly string[] {
  return [
    text.replaceAll(
      /\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gi,
      (_all, unit?: string, byte?: string, mark = '') =>
        (unit ?? byte) ? String.fromCharCode(parseInt(unit ?? byte ?? '', 16)) : (ESCAPES[mark] ?? mark),
    ),
    ...(/%[\da-f]{2}/i.test(text) ? [percentDecoded(text), percentDecoded(text.replaceAll('+', ' '))] : []),
    ...runs(text, /[\da-f]{16,}/gi).map((run) => Buffer.from(run, 'hex').toString()),
    ...runs(text, /[\w+/-]{10,}/g).flatMap((run) =>
      [0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), 'base64').toString()),
    ),
  ].filter((one) => one !== text)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

function runs(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([run]) => run)
}

function percentDecoded(text: string): string {
  const latin1 = Buffer.from(text).toString('latin1')
  const bytes = latin1.replaceAll(/%([\da-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString()
}
