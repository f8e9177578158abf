import { Socket } from 'node:net'

/** What a program can do with the pipe to whoever started it. */
export type ParentPipe = {
  /** Writes a line. Without a pipe, or when nobody reads it any more, nothing happens. */
  readonly tell: (line: string) => void
}

/**
 * Calls back when the program at the other end of a pipe has gone, however it went. `--parent-pipe=3` in the arguments
 * says which descriptor the pipe is.
 */
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

/** A socket and not a file stream, whose blocked read would keep the process from ever exiting. */
function openPipe(fd: number): Socket | undefined {
  try {
    return new Socket({ fd })
  } catch {
    return undefined
  }
}
