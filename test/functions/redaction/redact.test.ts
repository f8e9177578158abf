import { describe, expect, test } from '@jest/globals'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import { recordedArguments, redact, REDACTED, redactText } from '../../../functions/src/redaction/redact.ts'
import { NOT_SENSITIVE, sensitivityOf } from '../../../functions/src/redaction/sensitive.ts'

/** Parts that no redacted value may hold. Put together here, so that the repository holds no text with the shape of a key. */
const CANARY = 'Zx9Canary7Qw'
const SHAPED = [
  `eyJhbGciOiJI${CANARY}.eyJzdWIiOiIx${CANARY}.sig${CANARY}`,
  `sk-${CANARY}${CANARY}`,
  `ghp_${CANARY}${CANARY}`,
  `github_pat_${CANARY}_${CANARY}`,
  ['AKIA', 'CANARY7QWZX9ABCD'].join(''),
  `xoxb-${CANARY}-${CANARY}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}\n-----END RSA PRIVATE KEY-----`,
  `-----BEGIN PRIVATE KEY-----\n${CANARY}`,
  `Bearer ${CANARY}${CANARY}`,
  `https://ann:${CANARY}@example.com/a`,
  `https://example.com/a?x=1&token=${CANARY}&y=2`,
  `https://example.com/?next=https://other.example/?api_key=${CANARY}`,
  `callback=https%3A%2F%2Fh%2F%3Faccess_token%3D${CANARY}`,
  `password: ${CANARY}`,
  `密码：${CANARY}`,
  `password ＝ ${CANARY}`,
  `q=the%20password%20%3D%20${CANARY}`,
  `q=the+password+%253d+${CANARY}`,
  `PGPASSWORD="${CANARY} with blanks" psql`,
  `{'client_secret': '${CANARY}'}`,
  `Authorization: Basic ${CANARY}==\nAccept: */*`,
  `Cookie: a=b; sid=${CANARY}\r\nHost: x`,
  `curl -H "X-Api-Key: ${CANARY}" https://h`,
  `https://ann:x@${CANARY}@example.com/a`,
  `https://hooks.slack.com/services/T000/B000/${CANARY}`,
  `mysql --password ${CANARY} --user ann`,
  `DB_PASS=${CANARY} MYSQL_PWD=${CANARY}`,
  `AccountName=a;AccountKey=${CANARY}==`,
  `said {\\"password\\":\\"${CANARY}\\"}`,
  `said {"password":"x\\"${CANARY}"}`,
  `said {"password": "${CANARY} that was cut off`,
  `password%22%3A%22${CANARY}`,
  `password=b'${CANARY}'`,
  `password="""${CANARY} and more """`,
  `:password=>"${CANARY}"`,
  `password == '${CANARY}'`,
  `<db:Password>${CANARY}</db:Password>`,
  `ｐａｓｓｗｏｒｄ=${CANARY}`,
  `пароль: ${CANARY}`,
  `https://h/?pass%77ord=${CANARY}`,
  `%70%61%73%73word=${CANARY}`,
  `next=%2F%3Fpass%2577ord%253D${CANARY}`,
  `q=1%26%70in%3D${CANARY}`,
  `{"pass\\u0077ord":"${CANARY}", cut off`,
  `"\\x70assword" => '${CANARY}'`,
  `p%C3%A4ss=1&contrase%C3%B1a=${CANARY}`,
  `password: |\n  ${CANARY}\n  more ${CANARY}\n\n  end ${CANARY}`,
  `a:\n  - password: >-  # folded\n      ${CANARY}\n     ${CANARY}`,
  `password: |2-\n   ${CANARY}`,
  `password: !!str &anchor |\n  ${CANARY}`,
  `credentials:\n  user: ${CANARY}\n  keys:\n    - ${CANARY}`,
  `passwords:\n- ${CANARY}\n- ${CANARY}`,
  `password:\r\n  - ${CANARY}\r\n`,
  `password: {a: "} ${CANARY}", b: [${CANARY}]}`,
  `passwords = [\n  '${CANARY}',\n  '${CANARY}',\n]`,
  `password="first ${CANARY}\nsecond ${CANARY}"`,
  `Cookie:\n a=${CANARY}; b=${CANARY}`,
  `Enter your password:\n\n ${CANARY}`,
  `password:        ${CANARY}`,
  `<password>two ${CANARY}</password>`,
  `<password>\n  ${CANARY}\n</password>`,
  `env:\n- name: DB_PASSWORD\n  value: ${CANARY}`,
  `<add key="password" value="${CANARY}"/>`,
  `bearer\n\n  ${CANARY}${CANARY}`,
  `curl -u ann:${CANARY} https://h`,
  `curl --user 'ann:${CANARY}' https://h`,
  `sshpass -p ${CANARY} ssh h`,
  `docker login -u ann -p ${CANARY} h`,
  `mysql -h db -p${CANARY}`,
]
const isClean = (value: unknown): boolean => !/Canary|CANARY/.test(JSON.stringify(value))

/** The processor time that a redaction with this schema takes, in milliseconds. */
function processorMs(parameters: JsonObject, args: JsonObject): number {
  const marks = sensitivityOf(definition(parameters))
  const before = process.cpuUsage()
  redact(args, marks)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const definition = (parameters: JsonObject): string => JSON.stringify({ function: { name: 't', parameters } })
const hashOf = (args: JsonObject): string => recordedArguments(args, NOT_SENSITIVE).argumentsHash

test.each(SHAPED)('a secret in a text is replaced: %s', (text) => {
  expect(redactText(text)).toContain(REDACTED)
  const isLines = text.includes('\n') || text.endsWith(`-p${CANARY}`)
  const inside = isLines ? [`before\n${text}\nafter`] : [`before ${text} after`, `(${text})`, `a,${text},b`]
  for (const around of [text, ...inside])
    expect([around, isClean(redactText(around))]).toEqual([around, true])
})

test('lines below the name of a secret are removed as far as YAML takes them for its value', () => {
  const yaml = [
    'a:',
    '  - password: |',
    '      one',
    '',
    '        two',
    '    user: ann',
    '  - token:',
    '    b: 1',
    'credentials:',
    '  - x',
    '  - y: z',
    'keys: 2',
    'secrets:',
    '- one',
    '- two',
    'last: 3',
    'pass:',
    'end',
  ]
  expect(redactText(yaml.join('\n')).split('\n')).toEqual([
    'a:',
    '  - password: |',
    '      [redacted]',
    '',
    '    user: ann',
    '  - token:',
    '    b: 1',
    'credentials:',
    '  [redacted]',
    'keys: 2',
    'secrets:',
    '[redacted]',
    'last: 3',
    'pass:',
    '[redacted]',
  ])
})

test('a value whose quotes or brackets do not end takes no more than some lines along', () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}`)
  for (const begin of ['password="cut off', 'password=[cut off']) {
    const shown = redactText([begin, ...lines].join('\n'))
    expect(shown).not.toContain('cut off')
    expect(shown).toMatch(/\nline 99$/)
  }
})

test('a secret is found at every depth, in keys, in lists, and in JSON inside of strings', () => {
  const secret = { deep: [{ list: [`sk-${CANARY}${CANARY}`] }], password: { of: CANARY }, tokens: [CANARY] }
  const wrapped = (value: JsonValue, levels: number): JsonValue =>
    levels === 0 ? value : { json: JSON.stringify(wrapped(value, levels - 1)) }
  for (let levels = 0; levels < 8; levels += 1) expect(isClean(redact(wrapped(secret, levels)))).toBe(true)
  expect(isClean(redact({ [`sk-${CANARY}${CANARY}`]: 1 }))).toBe(true)
  expect(
    isClean(redact({ headers: [['Authorization', CANARY]], env: [{ name: 'DB_PASSWORD', value: CANARY }] })),
  ).toBe(true)
})

test('what follows the name of a secret in a list is replaced, and the value of an object that has such a name', () => {
  expect(redact(['mysql', '--password', CANARY, '--user', 'ann'])).toEqual([
    'mysql',
    '--password',
    REDACTED,
    '--user',
    'ann',
  ])
  expect(redact(['Cookie', CANARY, 'Host', 'h'])).toEqual(['Cookie', REDACTED, 'Host', 'h'])
  expect(redact(['curl', '-u', `ann:${CANARY}`, 'https://h'])).toEqual([
    'curl',
    '-u',
    'ann:[redacted]',
    'https://h',
  ])
  expect(redact(['docker', 'login', '-p', CANARY])).toEqual(['docker', 'login', '-p', REDACTED])
  expect(redact(['--password=', 'ann', 'a token', 'b'])).toEqual(['--password=', 'ann', 'a token', REDACTED])
  expect(redact({ Name: 'DB_PASSWORD', Value: CANARY })).toEqual({ Name: 'DB_PASSWORD', Value: REDACTED })
  expect(redact({ name: 'first', key: 'token', value: CANARY })).toMatchObject({ value: REDACTED })
})

test('of JSON with one name twice nothing stays, because a reader sees both', () => {
  const body = `{"password":"${CANARY}","password":null}`
  expect(redact({ body })).toEqual({ body: REDACTED })
  expect(redact({ body: '{"a":1,"b":{"a":2}}' })).toEqual({ body: '{"a":1,"b":{"a":2}}' })
})

test.each([
  'apiKey',
  'API-KEY',
  'access_token',
  'clientSecret',
  'Set-Cookie',
  'Proxy-Authorization',
  'pin',
  'db.password',
  'DB_PASS',
  'userPwd',
  'Passwort',
  'AccountKey',
  'ＰＡＳＳＷＯＲＤ',
  'pass\u200bword',
  'pаsswоrd',
  'contraseña',
  '密码',
])('the value of %s is replaced, whatever it is', (key) => {
  for (const value of [CANARY, 1234, [CANARY], { a: CANARY }])
    expect(redact({ [key]: value })).toEqual({ [key]: REDACTED })
})

test('what is no secret stays exactly as it was, and is not copied', () => {
  const args: JsonObject = {
    city: 'Bern',
    max_tokens: 500,
    has_token: true,
    secret: null,
    text: 'the token ring of 1984: a basic idea; key = value',
    url: 'https://example.com/a?page=2',
    skill: 'sk-short',
    json: '{"a": [1, 2]}',
    mail: 'ann@example.com',
    bypass: 'yes',
    compass: { pass: true },
    markup: '<b>bold</b> -- and a dash',
    list: ['git', 'log', '--oneline', 'main'],
    pairs: [{ name: 'city', value: 'Bern' }],
    größe: 'mittel: 5',
    frames: 'TokenExpiredError: [redacted]\n    at verify (/a/b.js:1:2)\n    at next',
    command: 'mkdir -p src && docker run -u 1000:1000 -p 80:80 image; git push -u origin main',
    words: ['mkdir', '-p', 'src', '-u', '1000:1000'],
    folded: 'note: |\n  text\nlist:\n- a',
    percent: 'q=50%25&r=a%3Db',
  }
  expect(redact(args)).toBe(args)
  expect(redactText('max_tokens=500&page=2')).toBe('max_tokens=500&page=2')
})

describe('x-sensitive', () => {
  const mark = { type: 'string', 'x-sensitive': true }

  test.each<[string, JsonObject, JsonObject]>([
    ['a property', { properties: { a: mark } }, { a: CANARY }],
    ['a property of a property', { properties: { a: { properties: { b: mark } } } }, { a: { b: CANARY } }],
    ['items', { properties: { a: { items: mark } } }, { a: ['x', CANARY] }],
    ['prefix items', { properties: { a: { prefixItems: [{}, mark] } } }, { a: ['x', CANARY] }],
    ['other properties', { additionalProperties: mark }, { a: CANARY }],
    ['a reference', { properties: { a: { $ref: '#/$defs/s' } }, $defs: { s: mark } }, { a: CANARY }],
    ['one of several', { properties: { a: { anyOf: [{ type: 'null' }, mark] } } }, { a: CANARY }],
    ['everything', { 'x-sensitive': true }, { a: CANARY }],
    ['a whole object', { properties: { a: { 'x-sensitive': true } } }, { a: { b: [CANARY] } }],
    ['a dependent schema', { dependentSchemas: { b: { properties: { a: mark } } } }, { b: 'x', a: CANARY }],
    ['an older one', { dependencies: { b: { properties: { a: mark } }, c: ['b'] } }, { b: 'x', a: CANARY }],
    ['unevaluated properties', { unevaluatedProperties: mark }, { a: CANARY }],
    ['unevaluated items', { properties: { a: { unevaluatedItems: mark } } }, { a: [CANARY] }],
    ['other items', { properties: { a: { items: [{}], additionalItems: mark } } }, { a: ['x', CANARY] }],
    ['names', { properties: { a: { propertyNames: mark } } }, { a: { [CANARY]: 1 } }],
    [
      'an escaped reference',
      { properties: { a: { $ref: '#/$defs/s%20t' } }, $defs: { 's t': mark } },
      { a: CANARY },
    ],
    [
      'an anchor',
      { properties: { a: { $ref: '#s' } }, $defs: { s: { $anchor: 's', ...mark } } },
      { a: CANARY },
    ],
    ['a dynamic reference', { properties: { a: { $dynamicRef: '#s' } }, $defs: { s: mark } }, { a: CANARY }],
    ['a cycle', { properties: { a: { $ref: '#' }, s: mark } }, { a: { a: { s: CANARY } } }],
  ])('of %s', (_what, parameters, args) => {
    expect(isClean(redact(args, NOT_SENSITIVE))).toBe(false)
    expect(isClean(redact(args, sensitivityOf(definition(parameters))))).toBe(true)
  })

  test.each<[string, JsonObject, boolean]>([
    ['a secret of pydantic', { type: 'string', format: 'password', writeOnly: true }, true],
    [
      'an optional one',
      { anyOf: [{ type: 'string', format: 'password', writeOnly: true }, { type: 'null' }] },
      true,
    ],
    ['a format alone', { format: 'password' }, true],
    ['what is written only', { writeOnly: true }, true],
    ['a mark that is no boolean, of an earlier version', { 'x-sensitive': 'true' }, true],
    ['another one', { 'x-sensitive': null }, true],
    ['what its author says is none', { format: 'password', 'x-sensitive': false }, false],
    ['a text that is not written only', { writeOnly: false, description: 'a password' }, false],
  ])('%s counts', (_what, schema, isSecret) => {
    const marks = sensitivityOf(definition({ properties: { a: schema } }))
    expect(redact({ a: CANARY }, marks)).toEqual({ a: isSecret ? REDACTED : CANARY })
  })

  test('members of which the schema says the same are looked at once', () => {
    const parts = Array.from({ length: 900 }, () => ({ additionalProperties: {}, items: {} }))
    const parameters = { properties: { a: mark, list: { allOf: parts } }, allOf: parts }
    const members = Object.fromEntries(Array.from({ length: 26_000 }, (_, at) => [`m${at}`, 0]))
    // If each were looked at alone, it would be many seconds.
    expect(processorMs(parameters, members)).toBeLessThan(1_000)
    expect(processorMs(parameters, { list: Array.from({ length: 120_000 }, () => 0) })).toBeLessThan(1_000)
  })

  test('what is behind very many schemas counts as marked', () => {
    const names = Array.from({ length: 300 }, (_, at) => `a${at}`)
    const part = { type: 'string' }
    const parameters = {
      properties: { ...Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/p' }])), s: mark },
      $defs: { p: { allOf: Array.from({ length: 300 }, () => ({ $ref: '#/$defs/q' })) }, q: part },
    }
    const args = Object.fromEntries(names.map((name) => [name, 'shown']))
    const shown = Object.values(redact(args, sensitivityOf(definition(parameters))) as JsonObject)
    expect(shown[0]).toBe('shown')
    expect(shown.at(-1)).toBe(REDACTED)
  })

  test('a member keeps its own mark beside others of which the schema says the same', () => {
    const marks = sensitivityOf(
      definition({
        properties: { list: { prefixItems: [{}, mark], items: {} }, open: {} },
        additionalProperties: mark,
        patternProperties: { '^q': {} },
      }),
    )
    expect(redact({ x: 1, open: 'a', y: 'b', list: ['c', 'd', 'e', 'f'], z: 2 }, marks)).toEqual({
      x: REDACTED,
      open: 'a',
      y: REDACTED,
      list: ['c', REDACTED, 'e', 'f'],
      z: REDACTED,
    })
  })

  test('nothing else of the arguments is removed', () => {
    const marks = sensitivityOf(definition({ properties: { a: mark, b: { type: 'string' } } }))
    expect(redact({ a: CANARY, b: 'shown' }, marks)).toEqual({ a: REDACTED, b: 'shown' })
  })
})

test('a long name of marks that are out of order is not put into order, and counts as that of a secret', () => {
  const name = `a${'\u0301'.repeat(60_000)}${'\u0323'.repeat(60_000)}`
  const before = process.cpuUsage()
  expect(redact({ [name]: 'x' }, NOT_SENSITIVE)).toEqual({ [name]: REDACTED })
  // Otherwise it is many seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
})

test('the hash is that of the arguments without their secrets, also if they are cut', () => {
  expect(hashOf({ b: 1, a: 2 })).toBe(hashOf({ a: 2, b: 1 }))
  expect(hashOf({ a: 2, b: 1 })).not.toBe(hashOf({ a: 2, b: 2 }))
  expect(hashOf({ password: 'one' })).toBe(hashOf({ password: 'two' }))
  const long = { text: 'x'.repeat(100_000), password: 'p', list: Array.from({ length: 20_000 }, () => 1) }
  const recorded = recordedArguments(long, NOT_SENSITIVE)
  expect(JSON.stringify(recorded.arguments).length).toBeLessThan(9_000)
  expect(recorded.argumentsHash).not.toBe(hashOf({ ...long, text: `y${'x'.repeat(99_999)}` }))
})

test.each([
  'eyJ-',
  'sk-a ',
  'a=',
  'password:',
  '[',
  '{"a":',
  'https://a:',
  'bearer ',
  '-----BEGIN ',
  'Cookie: ',
  'https://a@',
  'password="',
  'password="""',
  '--password ',
  'ü=',
  'a>',
  '-',
])('a text that repeats %j takes time that grows with its length only', (part) => {
  const took = (length: number): number => {
    const text = part.repeat(Math.ceil(length / part.length))
    const startedMs = process.cpuUsage().user
    redactText(text)
    return process.cpuUsage().user - startedMs
  }
  took(256 * 1024)
  // Quadratic time would be 256 times as much for a text that is 16 times as long.
  expect(took(256 * 1024)).toBeLessThan(80 * Math.max(took(16 * 1024), 10_000))
})
