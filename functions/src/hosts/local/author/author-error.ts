/** Thrown if the command failed. The message is one sentence for the person at the terminal. */
export class AuthorError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
