import type { Layer } from '@toolrack/contract'
import { placeOf, type LayerRead, type LayerSource } from '../../catalog/views/layer-source.ts'
import type { Log } from '../../log.ts'

/** Logs that a layer could not be read, or can be read again. */
export function reportLayer(log: Log, layer: Layer, event: { readonly lost: unknown } | 'back'): void {
  if (event === 'back') log.info('layer can be read again', { layer })
  else log.error('layer could not be read', { layer, reason: reasonOf(event.lost) })
}

/** The message of the innermost cause, because the errors around it only say that the store failed. */
function reasonOf(lost: unknown): string {
  if (!(lost instanceof Error)) return 'unknown'
  return lost.cause instanceof Error ? reasonOf(lost.cause) : lost.message
}

/** Returns a source that reads from `source`, and logs each item that was skipped, once. */
export function logged(source: LayerSource, log: Log): LayerSource {
  let known = new Set<string>()
  let last: LayerRead['skipped'] | undefined
  return {
    async open() {
      await source.open?.()
    },
    async read(since) {
      const read = await source.read(since)
      if (read.skipped === last) return read
      last = read.skipped
      const skipped = new Map(read.skipped.map((item) => [JSON.stringify(item), item]))
      for (const [key, item] of skipped) {
        if (known.has(key)) continue
        // The source `*.json` stands for the whole folder.
        const what = item.source.startsWith('*') ? 'folder of definitions has a fault' : 'definition skipped'
        log.warn(what, { at: placeOf(item), reason: item.message })
      }
      known = new Set(skipped.keys())
      return read
    },
  }
}
