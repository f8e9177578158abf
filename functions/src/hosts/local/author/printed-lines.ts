import type { CallEvent } from '../../../calls/call.ts'
import type { PrintedLog } from '../../../catalog/definitions/runner.ts'
import { terminalText } from './terminal-text.ts'

/** Shows the output of a call. Each part is shown when it arrives. If none has arrived, the whole output is shown at the end. */
export class PrintedLines {
  readonly #stream: { write(text: string): unknown }
  #last = ''

  constructor(stream: { write(text: string): unknown }) {
    this.#stream = stream
  }

  take(event: CallEvent): void {
    if (event.type === 'log') this.#write(event.text)
    if (event.type === 'progress') this.#write(`${Math.round(event.fraction * 100)} % ${event.text}\n`)
  }

  end(log: PrintedLog | null): void {
    if (this.#last === '' && log !== null) this.#write(log.text)
    if (this.#last !== '' && !this.#last.endsWith('\n')) this.#write('\n')
    if (log?.truncated) this.#write('… what it printed after this was not kept\n')
  }

  #write(text: string): void {
    if (text === '') return
    this.#last = text
    this.#stream.write(terminalText(text))
  }
}
