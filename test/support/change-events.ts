import type { ToolChanges } from '../../functions/src/features/changes/tool-changes.ts'

export type FeedEvent = { readonly id: string; readonly event: string; readonly data: ToolChanges }

/** Reads a feed of server-sent events. Resolves to undefined at its end. Comments are left out. */
export function feedReader(answer: Response): () => Promise<FeedEvent | undefined> {
  const events = eventsIn(answer)
  return async () => (await events.next()).value
}

async function* eventsIn(answer: Response): AsyncGenerator<FeedEvent, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of answer.body as ReadableStream<Uint8Array>) {
    const events = (text + decoder.decode(piece, { stream: true })).split('\n\n')
    text = events.pop() ?? ''
    for (const written of events) {
      const [, id, event, data] = /^id: (.*)\nevent: (\w+)\ndata: (.*)$/.exec(written) ?? []
      if (id !== undefined && event !== undefined && data !== undefined)
        yield { id, event, data: JSON.parse(data) as ToolChanges }
    }
  }
  return undefined
}
