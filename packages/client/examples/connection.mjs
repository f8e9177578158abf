import { readFileSync } from 'node:fs'

/** The address and the token of the server that `npm start` runs. */
export const connection = {
  service: process.env.TOOLRACK_URL ?? 'http://127.0.0.1:8787',
  token: process.env.TOOLRACK_TOKEN ?? readFileSync('.toolrack/token', 'utf8'),
}
