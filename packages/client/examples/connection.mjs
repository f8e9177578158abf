import { readFileSync } from 'node:fs'

/** Where `npm start` serves, and the token that it prints. */
export const connection = {
  service: process.env.TOOLRACK_URL ?? 'http://127.0.0.1:8787',
  token: process.env.TOOLRACK_TOKEN ?? readFileSync('.toolrack/token', 'utf8'),
}
