import { imagesToShow, type AnsweredImage, type ImageRules, type ToolResult } from '@toolrack/contract'
import { timedOut } from './errors.ts'
import { inTime } from './in-time.ts'
import { withNetworkErrors, type Service } from './service.ts'

/**
 * Loads the images of these results that a vendor with these rules takes. An image that cannot be loaded is left out: the model
 * then reads a sentence about it. Rejects only with the reason of `caller`.
 */
export async function loadImages(
  service: Service,
  results: readonly ToolResult[],
  rules: ImageRules | undefined,
  deadlineMs: number,
  caller: AbortSignal | undefined,
): Promise<readonly AnsweredImage[]> {
  const load = async (artifact: string, mimeType: string): Promise<readonly AnsweredImage[]> => {
    const ask = async (signal: AbortSignal): Promise<AnsweredImage> => {
      const path = `../artifacts/${encodeURIComponent(artifact)}`
      const { response } = await service.ask(path, await service.token(), signal, () => ({ method: 'GET' }))
      const bytes = await withNetworkErrors(signal, () => response.arrayBuffer())
      return { artifact, mimeType, data: base64(new Uint8Array(bytes)) }
    }
    try {
      return [await inTime(deadlineMs, () => timedOut(deadlineMs), ask, caller)]
    } catch {
      caller?.throwIfAborted()
      return []
    }
  }
  const shown = imagesToShow(results, rules)
  return (await Promise.all(shown.map(({ artifact, mimeType }) => load(artifact, mimeType)))).flat()
}

/** The images among these that a result refers to. Undefined if there is none. */
export function imagesOf(
  result: ToolResult,
  images: readonly AnsweredImage[],
): readonly AnsweredImage[] | undefined {
  const content = result.resultType === 'success' ? (result.content ?? []) : []
  const ids = new Set(content.map((part) => (part.type === 'text' ? undefined : part.artifact)))
  const own = images.filter(({ artifact }) => ids.has(artifact))
  return own.length > 0 ? own : undefined
}

/** How many bytes become a text at a time. An engine limits the arguments of one call. */
const AT_ONCE = 0x8000

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE))
  return btoa(text)
}
