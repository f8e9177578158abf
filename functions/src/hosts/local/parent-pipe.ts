import { Socket } from 'node:net'

/**
 * Calls `onGone` when the program at the other end of a pipe has ended. The pipe is `--parent-pipe=<descriptor>`. Returns a
 * function that writes a line to that program. Without a pipe, or if nobody reads it any more, that function does nothing.
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

/** Opens a socket and no file stream. A file stream blocks in a read, and would keep the process from exiting. */
function openPipe(fd: number): Socket | undefined {
  try {
    return new Socket({ fd })
  } catch {
    return undefined
  }
}
