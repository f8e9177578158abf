import { Socket } from 'node:net'

/**
 * Calls `onGone` when the program at the other end of the pipe, `--parent-pipe=<descriptor>`, has ended. Returns a function that
 * writes a line to that program. The function does nothing without a pipe, or if nobody reads the pipe any more.
 */
export function watchParent(args: readonly string[], onGone: () => void): (line: string) => void {
  const argument = args.find((candidate) => /^--parent-pipe=\d+$/.test(candidate))
  if (argument === undefined) return () => undefined
  const pipe = openPipe(Number(argument.slice('--parent-pipe='.length)))
  if (!pipe) setImmediate(onGone)
  pipe?.on('error', () => undefined).on('close', onGone)
  pipe?.resume()
  return (line) => void pipe?.write(`${line}\n`)
}

/** Opens a socket, because the blocked read of a file stream would prevent the process from exiting. */
function openPipe(fd: number): Socket | undefined {
  try {
    return new Socket({ fd })
  } catch {
    return undefined
  }
}
