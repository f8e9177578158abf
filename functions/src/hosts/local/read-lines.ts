import type { Readable } from 'node:stream'

/** Calls back with each line of a stream, without its end. A line that never ends is told in pieces. */
export function readLines(stream: Readable, onLine: (line: string) => void, charactersMax = 65_536): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    lines.forEach(onLine)
    if (rest.length < charactersMax) return
    onLine(rest)
    rest = ''
  })
  stream.on('end', () => {
    if (rest !== '') onLine(rest)
  })
}
