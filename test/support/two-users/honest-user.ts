import { User } from './user.ts'
import type { Told } from './user.ts'

/** One request of the honest user: its purpose, and whether the answer was right. */
export type Asked = Told & { readonly what: string; readonly isRight: boolean }

const moduleOf = (round: number): string => `def hello(name: str) -> dict:
    """Greets somebody."""
    return {"hello": name, "round": ${round}}


TOOL_SPECS = [{"name": "mine:hello", "handler": hello}]
`

/** A user who sends one request after the other, as users do, and checks each answer. */
export class HonestUser extends User {
  #round = 0

  /** Uploads a module, lists, calls, defines and dispatches. Most answers must have a value that only this round can have made. */
  async round(): Promise<readonly Asked[]> {
    this.#round += 1
    const round = this.#round
    const described = JSON.stringify(`Of round ${round}.`)
    const value = `{"hello":"Ann","round":${round}}`
    const note = { description: `Of round ${round}.`, parameters: { type: 'object', properties: {} } }
    const use = { type: 'tool_use', id: `t${round}`, name: 'mine__hello', input: { name: 'Ann' } }
    return [
      await this.#asks('upload', `"sha256"`, 'PUT', '/modules/mine', moduleOf(round)),
      await this.list(),
      await this.#asks('invoke', `"data":${value}`, 'POST', '/invoke', this.#call),
      await this.#asks('define', '"outcome"', 'PUT', '/defs/note', note),
      await this.#asks('list what was defined', described, 'GET', '/list?names=note'),
      await this.#asks('dispatch', JSON.stringify(value), 'POST', '/dispatch', [use]),
    ]
  }

  list(): Promise<Asked> {
    return this.#asks('list', '"mine:hello"', 'GET', '/list')
  }

  /** Calls the module of the last round. */
  invoke(): Promise<Asked> {
    return this.#asks('invoke', '"resultType":"success"', 'POST', '/invoke', this.#call)
  }

  readonly #call = { name: 'mine:hello', arguments: { name: 'Ann' } }

  async #asks(what: string, part: string, ...request: Parameters<User['ask']>): Promise<Asked> {
    const told = await this.ask(...request)
    return { ...told, what, isRight: [200, 201].includes(told.status) && told.text.includes(part) }
  }
}
