import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const PAUSE_MS = 1

/** Resolves when a process listens on a port of this machine. Rejects after `withinMs`. */
export async function listening(port: number, withinMs = 60_000): Promise<void> {
  const endsMs = performance.now() + withinMs
  while (!(await isListening(port))) {
    if (performance.now() > endsMs) throw new Error(`nobody listens on port ${port} after ${withinMs} ms`)
    await pause(PAUSE_MS)
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
