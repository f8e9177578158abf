import type { ToolDefinition } from '@toolrack/contract'
import type { LayerRead, LayerSource } from '../../functions/src/catalog/views/layer-source.ts'
import { put } from './definition-changes.ts'

/** A layer that a test controls: it can change the layer, break it, and delay an answer. */
export class ScriptedLayerSource implements LayerSource {
  /** The number of reads. */
  reads = 0
  fault: Error | undefined
  #opened: Promise<void> | undefined
  #gate: Promise<void> | undefined
  #revision = 0
  #tools: readonly ToolDefinition[] = []

  constructor(...tools: ToolDefinition[]) {
    this.set(...tools)
  }

  set(...tools: ToolDefinition[]): void {
    this.#tools = tools
    this.#revision += 1
  }

  /** Makes `open` and every read wait until the returned function is called. */
  close(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#opened = promise
    return resolve
  }

  async open(): Promise<void> {
    await this.#opened
  }

  /** Makes every read wait until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gate = promise
    return () => {
      this.#gate = undefined
      resolve()
    }
  }

  async read(since?: string): Promise<LayerRead> {
    this.reads += 1
    const { fault } = this
    const read = this.#readNow(since)
    await this.#opened
    await this.#gate
    if (fault) throw fault
    return read
  }

  #readNow(since: string | undefined): LayerRead {
    const revision = `s${this.#revision}`
    const nothing = { revision, deleted: [], skipped: [] }
    if (revision === since) return { ...nothing, whole: false, definitions: [] }
    const definitions = this.#tools.map((tool) => {
      const { name, text, digest } = put(tool)
      return { name, text, digest, revision }
    })
    return { ...nothing, whole: true, definitions }
  }
}
