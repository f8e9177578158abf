/** An error that the user of the command can correct. Its message is printed without a stack. */
export class SetupError extends Error {
  name = 'SetupError'

  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Thrown for `--help`, with the text to print. So the command ends before it does anything. */
export class HelpText extends Error {}

/** Runs the body of one command, which resolves to the exit code. Wrong arguments are reported like a SetupError. */
export async function runCommand(body) {
  try {
    process.exitCode = await body()
  } catch (err) {
    if (err instanceof HelpText) {
      process.stdout.write(err.message)
      return
    }
    if (!(err instanceof SetupError) && !err.code?.startsWith('ERR_PARSE_ARGS')) throw err
    process.stderr.write(`${err.message}\n`)
    process.exitCode = err.exitCode ?? 1
  }
}
