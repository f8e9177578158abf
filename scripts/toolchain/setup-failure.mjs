/** Something the person at the keyboard has to know and can act on: printed as it is, without a stack. */
export class SetupFailure extends Error {
  name = 'SetupFailure'

  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Runs one command's body, which resolves to the exit code. */
export async function runCommand(body) {
  try {
    process.exitCode = await body()
  } catch (err) {
    if (!(err instanceof SetupFailure)) throw err
    process.stderr.write(`${err.message}\n`)
    process.exitCode = err.exitCode
  }
}
