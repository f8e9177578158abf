export type StreamedEvent = { readonly type: string; readonly [field: string]: unknown }

/** The events of a streamed call, as they come. Comments are left out. */
export async function* eventsOf(answer: Response): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of answer.body as ReadableStream<Uint8Array>) {
    const events = (text + decoder.decode(piece, { stream: true })).split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const [, type, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
      if (type !== undefined) yield { type, ...(JSON.parse(data) as object) }
    }
  }
  if (text !== '') throw new Error(`the stream ends in the middle of an event: ${text}`)
}

/** All events of a streamed call. */
export async function allEvents(answer: Response): Promise<readonly StreamedEvent[]> {
  const events: StreamedEvent[] = []
  for await (const event of eventsOf(answer)) events.push(event)
  return events
}
