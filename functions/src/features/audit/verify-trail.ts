import { isJsonObject, parsedJson, type JsonObject } from '@toolrack/contract'
import { isSigned, manifestHash, parseManifest, type Manifest } from './manifest.ts'
import { NumberRanges } from './number-ranges.ts'
import { erasedText, firstPrev, hashOf, partsOf, type ChainHead } from './record.ts'

/** The first fault that was found. `line` counts from 1. */
export type TrailFault = { readonly line: number; readonly place: string; readonly reason: string }

export type TrailReport = {
  readonly records: number
  readonly erased: number
  /**
   * The last record of each chain. An operator can keep them elsewhere. Only then can a verification find out that the end of a
   * chain was cut off.
   */
  readonly heads: readonly ChainHead[]
  readonly manifests: number
  /**
   * The newest manifest as `manifest/DAY/HASH`. An operator can keep it elsewhere, like a head, and give it to a later
   * verification.
   */
  readonly manifestHead: string | null
  /** The key that has signed the manifests; null without manifests. */
  readonly publicKey: string | null
  readonly fault: TrailFault | null
}

type Expected = {
  /** The public key that must have signed every manifest. Without it, the key in the first manifest counts. */
  readonly publicKey?: string | undefined
  /** Heads that were kept elsewhere, as `INSTANCE/DAY/SEQ/HASH` or `manifest/DAY/HASH`. Each must be in the trail. */
  readonly heads?: readonly string[]
  /** True if the lines are only a part of the trail: some days or chains. Then manifests of other days need no records. */
  readonly isPart?: boolean
  /** A day whose records must be among the lines, even if `isPart` is true. Only retention may have removed them. */
  readonly day?: string | undefined
  /** For chains whose first records are not among the lines: the last of these missing records. */
  readonly after?: readonly ChainHead[]
  /** True if there are manifests before the first manifest of the lines. */
  readonly hasEarlier?: boolean
}

type Chain = { head: ChainHead; line: number }

/** Verifies the lines of a trail, one after the other. The lines are the records of chains, in their order, and manifests. */
export class TrailVerifier {
  readonly #chains = new Map<string, Chain>()
  readonly #erased = new Map<string, { readonly line: number; readonly at: string }>()
  readonly #erasures = new Map<string, NumberRanges>()
  readonly #manifests: { readonly manifest: Manifest; readonly text: string; readonly line: number }[] = []
  readonly #expected: Expected
  readonly #wantedHeads: Set<string>
  #removedBefore = ''
  #records = 0
  #line = 0
  #fault: TrailFault | null = null

  constructor(expected: Expected = {}) {
    this.#expected = expected
    this.#wantedHeads = new Set(expected.heads)
    for (const head of expected.after ?? []) this.#chains.set(firstPrev(head), { head, line: 0 })
  }

  get hasFault(): boolean {
    return this.#fault !== null
  }

  /** Takes the next line. After the first fault, lines are ignored. */
  take(text: string): void {
    this.#line += 1
    if (this.#fault || text === '') return
    const value = parsedJson(text)
    if (!isJsonObject(value))
      return this.#fail('', 'the line is not a whole record: it is cut off or damaged')
    if ('chains' in value) this.#takeManifest(value, text)
    else this.#takeRecord(value, text)
  }

  /** Takes a record of kind erasure or retention, from a day that is not verified here. */
  noteRemoval(text: string): void {
    const record = parsedJson(text)
    if (isJsonObject(record)) this.#noteRemoval(record)
  }

  end(): TrailReport {
    if (!this.#fault) this.#checkErased()
    if (!this.#fault) this.#checkManifests()
    if (!this.#fault) this.#checkHeads()
    const [first] = this.#manifests
    const last = this.#manifests.at(-1)
    return {
      records: this.#records,
      erased: this.#erased.size,
      heads: [...this.#chains.values()].map(({ head }) => head),
      manifests: this.#manifests.length,
      manifestHead: last ? manifestHead(last.manifest.day, last.text) : null,
      publicKey: first?.manifest.publicKey ?? null,
      fault: this.#fault,
    }
  }

  #takeRecord(record: JsonObject, text: string): void {
    const { instance, day, seq, prev } = record
    if (typeof instance !== 'string' || typeof day !== 'string' || typeof seq !== 'number')
      return this.#fail('', 'the line is no record of a trail')
    const place = `record ${seq} of ${instance}/${day}`
    const parts = partsOf(text)
    if (!parts || typeof prev !== 'string') return this.#fail(place, 'its hash or its prev is missing')
    const key = firstPrev({ instance, day })
    const before = this.#chains.get(key)?.head
    const next = (before?.seq ?? 0) + 1
    if (seq > next)
      return this.#fail(
        place,
        `${seq === next + 1 ? `record ${next} is` : `records ${next} to ${seq - 1} are`} missing before it, or the order was changed`,
      )
    if (seq < next) return this.#fail(place, 'it stands after a later record: it was moved or repeated')
    const isErased = record['erased'] === true
    if (isErased && text !== erasedText({ instance, day, seq, hash: parts.hash }, prev))
      return this.#fail(place, 'what is left of it after its erasure was changed')
    if (!isErased && hashOf(prev, parts.body) !== parts.hash)
      return this.#fail(place, 'its content does not have its hash: something in it was changed')
    if (prev !== (before?.hash ?? key))
      return this.#fail(
        place,
        'its prev is not the hash of the record before it: one of the two was replaced',
      )
    if (isErased) this.#erased.set(`${key}/${seq}`, { line: this.#line, at: place })
    this.#records += 1
    this.#wantedHeads.delete(headText({ instance, day, seq, hash: parts.hash }))
    this.#chains.set(key, { head: { instance, day, seq, hash: parts.hash }, line: this.#line })
    this.#noteRemoval(record)
  }

  /** Remembers which records were erased, and which days retention has removed. */
  #noteRemoval({ kind, subject }: JsonObject): void {
    if (!isJsonObject(subject)) return
    if (
      kind === 'retention' &&
      typeof subject['before'] === 'string' &&
      subject['before'] > this.#removedBefore
    )
      this.#removedBefore = subject['before']
    if (kind !== 'erasure' || !isJsonObject(subject['erased'])) return
    for (const [chain, ranges] of Object.entries(subject['erased'])) {
      const known = this.#erasures.get(chain) ?? new NumberRanges()
      if (typeof ranges === 'string') known.add(ranges)
      this.#erasures.set(chain, known)
    }
  }

  #takeManifest(value: JsonObject, text: string): void {
    const manifest = parseManifest(value)
    if (!manifest) return this.#fail('', 'the line is no manifest')
    this.#wantedHeads.delete(manifestHead(manifest.day, text))
    this.#manifests.push({ manifest, text, line: this.#line })
  }

  #checkErased(): void {
    for (const [place, { line, at }] of this.#erased) {
      const end = place.lastIndexOf('/')
      if (this.#erasures.get(place.slice(0, end))?.has(Number(place.slice(end + 1)))) continue
      return this.#fail(at, 'its content is erased, and no erasure in the trail names it', line)
    }
  }

  #checkManifests(): void {
    const sorted = this.#manifests.toSorted((a, b) => (a.manifest.day < b.manifest.day ? -1 : 1))
    const publicKey = this.#expected.publicKey ?? sorted[0]?.manifest.publicKey ?? ''
    let before: (typeof sorted)[number] | undefined
    for (const each of sorted) {
      const { manifest, line } = each
      const place = `the manifest of ${manifest.day}`
      if (!isSigned(manifest, publicKey))
        return this.#fail(place, 'its signature is not that of the key', line)
      // Manifests are never removed. So the first manifest has none before it, unless the lines begin with a later one.
      const isFirst = !before && this.#expected.hasEarlier === true
      if (!isFirst && manifest.prev !== (before ? manifestHash(before.text) : null))
        return this.#fail(place, 'the manifest before it was removed or replaced', line)
      this.#checkChains(each)
      if (this.#fault) return
      before = each
    }
  }

  #checkChains({ manifest: { day, chains }, line }: { manifest: Manifest; line: number }): void {
    const present = [...this.#chains.values()].filter(({ head }) => head.day === day)
    const isElsewhere = this.#expected.isPart === true && day !== this.#expected.day
    if (present.length === 0 && (isElsewhere || day < this.#removedBefore)) return
    for (const { instance, records, head } of chains) {
      const found = this.#chains.get(firstPrev({ instance, day }))?.head
      const place = `the chain ${instance}/${day}`
      if (!found) return this.#fail(place, 'its manifest names it, and all of its records are missing', line)
      if (found.seq < records)
        return this.#fail(
          place,
          `its end was cut off: it has ${found.seq} records, and its manifest names ${records}`,
          line,
        )
      if (found.seq > records || found.hash !== head)
        return this.#fail(place, 'its end is not the one that its manifest has signed', line)
    }
    const signed = new Set(chains.map(({ instance }) => instance))
    const added = present.find(({ head }) => !signed.has(head.instance))
    if (added)
      this.#fail(
        `the chain ${added.head.instance}/${day}`,
        'the manifest of its day does not name it',
        added.line,
      )
  }

  #checkHeads(): void {
    const [missing] = this.#wantedHeads
    if (missing !== undefined)
      this.#fail(missing, 'this head was kept elsewhere, and the trail does not have it', this.#line)
  }

  #fail(place: string, reason: string, line = this.#line): void {
    this.#fault = { line, place, reason }
  }
}

/** A head as text, so that an operator can keep it elsewhere. */
export function headText({ instance, day, seq, hash }: ChainHead): string {
  return `${firstPrev({ instance, day })}/${seq}/${hash}`
}

function manifestHead(day: string, text: string): string {
  return `manifest/${day}/${manifestHash(text)}`
}
