import type { RunnerEvent } from '../../catalog/definitions/runner.ts'
import { JsonText } from '../../json/json-text.ts'
import { Turns } from '../../loop-turn.ts'
import { FilteredLines } from '../../redaction/filtered-lines.ts'
import type { TextFilter } from '../../redaction/known-secrets.ts'
import type { PrintedSecrets } from '../../redaction/printed-secrets.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import type { Received } from '../call.ts'

type Parts = {
  readonly emit: Received['emit']
  /** The filter of what the tool prints. */
  readonly printed: () => TextFilter
  /** The stored secrets that the tool gets. */
  readonly stored: StoredSecrets | undefined
}

/** Which texts may end in the middle, because the tool was killed or has printed too much. */
type Cut = { readonly isLogCut: boolean; readonly isValueCut: boolean }

/** Passes the events of a runner on to a streaming caller, without secrets. A secret may begin in one event and end in another. */
export class FilteredEvents {
  readonly #parts: Parts
  #lines: FilteredLines | undefined
  /** The filters of the three kinds of texts. */
  readonly #stored: Partial<Record<RunnerEvent['type'], PrintedSecrets | undefined>> = {}

  /** Resolves when the events so far are heard. */
  #last: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Resolves when the caller takes more events. With stored secrets, an event waits for those before it, so they keep their order. */
  hear(event: RunnerEvent): Promise<void> | undefined {
    if (!this.#parts.stored) return this.#hear(event)
    const heard = this.#last.then(() => this.#hear(event))
    this.#last = heard.catch(() => undefined)
    return heard
  }

  #hear(event: RunnerEvent): Promise<void> | undefined {
    const { emit, printed, stored } = this.#parts
    if (event.type === 'value') return stored ? this.#hearValue(event.value, stored) : emit(event)
    const filter = this.#filter(event.type)
    if (event.type === 'progress') {
      const text = filter ? filter.takeWhole(event.text) : event.text
      return emit({ ...event, text: printed()(text) })
    }
    return this.#log(
      (this.#lines ??= new FilteredLines(printed())).take(filter?.take(event.text) ?? event.text),
    )
  }

  /** Sends what was held back. If a text was cut off, what may be the beginning of a secret at its end is removed. */
  async end({ isLogCut, isValueCut }: Cut): Promise<void> {
    await this.#last
    await this.#endText(isValueCut)
    const lines = this.#lines
    if (!lines) return
    const rest = restOf(this.#stored.log, isLogCut)
    await this.#log(lines.take(rest) + lines.end())
  }

  #log(text: string): Promise<void> | undefined {
    return text === '' ? undefined : this.#parts.emit({ type: 'log', text })
  }

  /**
   * Callers join the texts of a generator, so a text is searched together with the texts before it. Another value between two
   * texts is shown at once, so what may be the beginning of a secret before it is removed.
   */
  async #hearValue(value: JsonText, stored: StoredSecrets): Promise<void> {
    if (!value.text.startsWith('"')) {
      await this.#endText(true)
      const text = await new Turns().run(stored.withoutInJson(value.text))
      await this.#parts.emit({ type: 'value', value: new JsonText(text) })
      return
    }
    const text = JSON.parse(value.text) as string
    const shown = this.#filter('value')?.take(text) ?? text
    // A text of which nothing can be shown yet comes with the next one.
    if (shown !== '' || text === '') await this.#parts.emit({ type: 'value', value: textValue(shown) })
  }

  async #endText(isCut: boolean): Promise<void> {
    const rest = restOf(this.#stored.value, isCut)
    if (rest !== '') await this.#parts.emit({ type: 'value', value: textValue(rest) })
  }

  #filter(type: RunnerEvent['type']): PrintedSecrets | undefined {
    return (this.#stored[type] ??= this.#parts.stored?.open())
  }
}

function restOf(filter: PrintedSecrets | undefined, isCut: boolean): string {
  return (isCut ? filter?.cut() : filter?.end()) ?? ''
}

function textValue(text: string): JsonText {
  return new JsonText(JSON.stringify(text))
}
