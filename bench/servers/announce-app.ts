import type { Express } from 'express'
import type { AddressInfo } from 'node:net'
import { announce } from './announce.ts'

/** Serves a peer's app on a free port. */
export function announceApp(app: Express): void {
  const server = app.listen(0, '127.0.0.1', () => {
    announce({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  })
}
