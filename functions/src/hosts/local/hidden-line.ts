import { StringDecoder } from 'node:string_decoder'
import type { ReadStream } from 'node:tty'

const ENTER = /[\r\n]/
const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\x03', '\x04', '\b', '\x7f']

/**
 * Asks for one line and reads it from a terminal, without showing it. Undefined if the person ends the input. Throws if more text follows the
 * line: it was pasted, and the shell would run the rest of it as commands.
 */
export async function hiddenLine(terminal: ReadStream, ask: () => unknown): Promise<string | undefined> {
  const decoder = new StringDecoder('utf8')
  // What is typed before the question is not shown either.
  terminal.setRawMode(true)
  ask()
  try {
    let line = ''
    for await (const bytes of terminal) {
      const text = decoder.write(bytes as Buffer)
      const end = text.search(ENTER)
      line = edited(line, end === -1 ? text : text.slice(0, end))
      if (line.includes(CTRL_C) || line.includes(CTRL_D)) return undefined
      if (end === -1) continue
      if (text.slice(end).trim() !== '')
        throw new Error('The value has several lines. Send it through a pipe.')
      return line
    }
    return undefined
  } finally {
    terminal.setRawMode(false)
    terminal.pause()
  }
}

function edited(line: string, typed: string): string {
  let text = line
  for (const letter of typed)
    text = letter === BACKSPACE || letter === DELETE ? [...text].slice(0, -1).join('') : text + letter
  return text
}
