import { isJsonObject } from '../json.ts'
import type { ResultContent, ToolResult } from '../tool-result.ts'
import type { AnsweredCall } from './call-format.ts'

/** The bytes of an image for a message to a model. */
export type AnsweredImage = {
  /** The id of the artifact in `content` of the result. */
  readonly artifact: string
  readonly mimeType: string
  /** The bytes in base64, with padding. */
  readonly data: string
}

/** The images that a vendor takes in the answer to a call. */
export type ImageRules = {
  readonly mimeTypes: readonly string[]
  /** The most bytes of one image, before base64. Undefined if the vendor only limits the whole request. */
  readonly bytesMax?: number
}

export function isAnsweredImage(value: unknown): value is AnsweredImage {
  if (!isJsonObject(value)) return false
  const { artifact, mimeType, data } = value
  return [artifact, mimeType, data].every((text) => typeof text === 'string')
}

/** An image or a file of a result. */
type Kept = Extract<ResultContent, { readonly artifact: string }>

/**
 * The most bytes of all images in the answers to one model's answer, before base64. The messages stay in the conversation, so they
 * are sent with each later request. The smallest limit for a request that a vendor documents is 20 MB, with base64.
 */
const ALL_IMAGES_BYTES_MAX = 8 * 1024 * 1024

/**
 * The images of these results whose bytes a vendor with these rules takes, in their order. The bytes of all others need not be
 * loaded. Without rules there is none.
 */
export function imagesToShow(
  results: readonly ToolResult<unknown>[],
  rules: ImageRules | undefined,
): readonly Kept[] {
  const shown = new Map<string, Kept>()
  let bytes = 0
  for (const part of results.flatMap(keptIn)) {
    if (!rules || !isTaken(part, rules) || shown.has(part.artifact)) continue
    if (bytes + part.bytes > ALL_IMAGES_BYTES_MAX) continue
    bytes += part.bytes
    shown.set(part.artifact, part)
  }
  return [...shown.values()]
}

/**
 * The text and the images of an answer. The text also has a sentence for each image and file, which has its id: a model can give
 * the id to another tool. An image without bytes, or one that the rules do not take, has only its sentence. The type of an image
 * is that of its bytes: a vendor refuses the whole conversation if an image has another type than it says.
 */
export function answerParts(
  { result, images = [] }: AnsweredCall,
  rules?: ImageRules,
): { readonly text: string; readonly images: readonly AnsweredImage[] } {
  const kept = keptIn(result)
  if (kept.length === 0) return { text: result.textResultForLlm, images: [] }
  const shown: AnsweredImage[] = []
  const sentences = kept.map((part) => {
    const image = rules && shownImage(part, images, rules)
    if (image) shown.push(image)
    return sentence(part, image && shown.length)
  })
  return { text: [result.textResultForLlm, ...sentences].join('\n'), images: shown }
}

export function dataUrl({ mimeType, data }: AnsweredImage): string {
  return `data:${mimeType};base64,${data}`
}

function shownImage(
  part: Kept,
  images: readonly AnsweredImage[],
  rules: ImageRules,
): AnsweredImage | undefined {
  const image = images.find(({ artifact }) => artifact === part.artifact)
  if (!image) return undefined
  const mimeType = typeOf(image.data)
  return mimeType !== undefined && isTaken({ ...part, mimeType }, rules) ? { ...image, mimeType } : undefined
}

function keptIn(result: ToolResult<unknown>): readonly Kept[] {
  if (result.resultType === 'failure') return []
  return (result.content ?? []).filter((part) => part.type !== 'text')
}

function isTaken({ type, mimeType, bytes }: Kept, { mimeTypes, bytesMax = Infinity }: ImageRules): boolean {
  return type === 'image' && bytes <= bytesMax && mimeTypes.includes(mimeType)
}

/** How the bytes of each type of image begin, in base64. */
const BEGINNINGS: readonly (readonly [mimeType: string, beginning: RegExp])[] = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGOD[dl]h/],
  ['image/webp', /^UklG.{8}RUJQ/],
]

function typeOf(base64: string): string | undefined {
  return BEGINNINGS.find(([, beginning]) => beginning.test(base64))?.[0]
}

/** `place` is the place of the image among those that follow the text. Undefined if the model does not get it. */
function sentence({ type, artifact, mimeType, name, bytes }: Kept, place: number | undefined): string {
  const what = `The ${type} ${JSON.stringify(name)} (${mimeType}, ${bytes} bytes) is the artifact ${artifact}`
  return place === undefined ? `${what}. You do not see it here.` : `${what}: image ${place} after this text.`
}
