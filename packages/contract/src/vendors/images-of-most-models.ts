import type { ImageRules } from '../calls/answer-images.ts'
import { ANTHROPIC_IMAGE_BYTES_MAX } from './anthropic.ts'

/** The images for a library that gives them to a model of any vendor: what every vendor takes. */
export const IMAGES_OF_MOST_MODELS: ImageRules = {
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp'],
  bytesMax: ANTHROPIC_IMAGE_BYTES_MAX,
}
