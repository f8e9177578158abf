import { createReadStream } from 'node:fs'

/**
 * Calls back when the program at the other end of a pipe has gone, however it went. `--lifeline=3` in the arguments
 * says which descriptor the pipe is.
 */
export function onLifelineCut(args: readonly string[], callback: () => void): void {
  const argument = args.find((candidate) => /^--lifeline=\d+$/.test(candidate))
  if (argument === undefined) return
  const pipe = createReadStream('', { fd: Number(argument.slice('--lifeline='.length)) })
  pipe
    .on('error', () => undefined)
    .on('close', callback)
    .resume()
}
