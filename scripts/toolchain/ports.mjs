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
  await closed(server)
  return true
}

/** So many different ports on which nobody listens now. */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, host))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map(closed))
  return ports
}

function closed(server) {
  server.close()
  return once(server, 'close')
}
