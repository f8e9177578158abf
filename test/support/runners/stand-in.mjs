/**
 * Follows the start protocol of the Python runner, and fails in the way that the first argument names. Each start appends
 * a line to the file in the second argument, with the process id, the secret and the environment.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const [kind, log] = process.argv.slice(2)
let secret = ''
let answers = 0

process.stdin.setEncoding('utf8').on('data', (text) => {
  if (secret !== '' || !text.includes('\n')) return
  secret = text.trim()
  appendFileSync(log, `${JSON.stringify({ pid: process.pid, secret, env: process.env })}\n`)
  start()
})
process.stdin.on('end', () => kind !== 'does not stop' && process.exit(0))

function start() {
  const starts = readFileSync(log, 'utf8').trim().split('\n').length
  if (kind === 'dies') die('the first bad word\n{"severity":"ERROR","message":"It can not go on."}\n', 3)
  else if (kind === 'has a wrong setting') die('{"severity":"ERROR","message":"SLOTS is wrong."}\n', 78)
  else if (kind === 'dies twice' && starts <= 2) die('Not yet.\n', 1)
  else if (kind === 'speaks nonsense') say('Hello!')
  else if (kind === 'listens elsewhere') say('{"listening":"http://203.0.113.1:80","pid":1}')
  else if (kind === 'never ready') setInterval(() => {}, 60_000)
  else listen()
}

function listen() {
  if (kind === 'does not stop') {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], { stdio: 'ignore' })
    appendFileSync(log, `${JSON.stringify({ pid: child.pid })}\n`)
  }
  const server = createServer((req, res) => answer(req, res)).listen(0, '127.0.0.1', () => {
    process.stderr.write('{"severity":"INFO","message":"Here I am.","slots":8}\n')
    say(JSON.stringify({ listening: `http://127.0.0.1:${server.address().port}`, pid: process.pid }))
  })
}

function answer(req, res) {
  answers += 1
  if (kind === 'silent') return
  const isTrusted = req.headers.authorization === `Bearer ${secret}`
  const head = { status: 'ok', version: '0.1.0', isolation: 'L2' }
  res.end(JSON.stringify(isTrusted ? { ...head, layers: [], attacks: [], answers, pid: process.pid } : head))
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

function die(words, code) {
  process.stderr.write(words, () => process.exit(code))
}
