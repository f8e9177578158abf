import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const host = '127.0.0.1'

/** The shortest time for which a claim is valid. A program that asked for ports must listen on them within this time. */
const claimMs = 600_000
const claims = join(tmpdir(), `toolrack-ports-${process.getuid?.() ?? 'user'}`)

/** True if nobody listens on the port. */
export async function isFree(port) {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/** Claims the port with a file, so that two programs that search for free ports at the same time get different ports. */
function claim(port) {
  const period = Math.floor(Date.now() / claimMs)
  const [older, before, now] = [2, 1, 0].map((age) => join(claims, String(period - age)))
  rmSync(older, { recursive: true, force: true })
  mkdirSync(now, { recursive: true, mode: 0o700 })
  if (existsSync(join(before, String(port)))) return false
  try {
    writeFileSync(join(now, String(port)), '', { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/**
 * Finds `count` different ports on which nobody listens now. No other caller gets them within ten minutes. They are below the
 * ports that systems assign, so a program that asks the system for a free port does not get one of them either.
 * @param {number} count
 * @returns {Promise<number[]>}
 */
export async function freePorts(count) {
  const ports = new Set()
  while (ports.size < count) {
    const port = randomInt(20_000, 32_768)
    if (claim(port) && (await isFree(port))) ports.add(port)
  }
  return [...ports]
}
