import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const host = '127.0.0.1'

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

/** Different ports on which nobody listens now. Systems assign none of them to a program that asks for any free port. */
export async function freePorts(count) {
  const ports = new Set()
  while (ports.size < count) {
    const port = randomInt(20_000, 32_768)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}
