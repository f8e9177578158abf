import { Socket } from 'node:net'

/** The pipe to the program that started this one. */
type ParentPipe = {
  /** Writes a line. Does nothing without a pipe, or if nobody reads it any more. */
  readonly tell: (line: string) => void
}

/** Calls `onGone` when the program at the other end of the pipe, `--parent-pipe=<descriptor>`, has ended. */
export function watchParent(args: readonly string[], onGone: () => void): ParentPipe {
  const argument = args.find((candidate) => /^--parent-pipe=\d+$/.test(candidate))
  if (argument === undefined) return { tell: () => undefined }
  const pipe = openPipe(Number(argument.slice('--parent-pipe='.length)))
  if (!pipe) {
    setImmediate(onGone)
    return { tell: () => undefined }
  }
  pipe
    .on('error', () => undefined)
    .on('close', onGone)
    .resume()
  return { tell: (line) => void pipe.write(`${line}\n`) }
}

/** Opens a socket, because the blocked read of a file stream would prevent the process from exiting. */
function openPipe(fd: number): Socket | undefined {
  try {
    return new Socket({ fd })
  } catch {
    return undefined
  }
}
