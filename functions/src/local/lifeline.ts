import { Socket } from 'node:net'

/**
 * Calls back when the program at the other end of a pipe has gone, however it went. `--lifeline=3` in the arguments
 * says which descriptor the pipe is.
 */
export function onLifelineCut(args: readonly string[], callback: () => void): void {
  const argument = args.find((candidate) => /^--lifeline=\d+$/.test(candidate))
  if (argument === undefined) return
  const pipe = openPipe(Number(argument.slice('--lifeline='.length)))
  if (!pipe) return void setImmediate(callback)
  pipe
    .on('error', () => undefined)
    .on('close', callback)
    .resume()
}

/** A socket and not a file stream, whose blocked read would keep the process from ever exiting. */
function openPipe(fd: number): Socket | undefined {
  try {
    return new Socket({ fd })
  } catch {
    return undefined
  }
}
