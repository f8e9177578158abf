import { ToolsError } from './errors.ts'

/** The SHA-256 of a text's UTF-8 bytes in hex digits. The platform's WebCrypto computes it. Throws CRYPTO_MISSING. */
export async function sha256Hex(text: string): Promise<string> {
  // The types say that `crypto.subtle` always exists, but pages without https do not have it.
  const subtle = globalThis.crypto?.subtle
  if (!subtle)
    throw new ToolsError(
      'CRYPTO_MISSING',
      'A SHA-256 is needed, and the platform has no crypto.subtle; a page has it under https only.',
    )
  const bytes = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
