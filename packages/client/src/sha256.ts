import { ToolsError } from './tools-error.ts'

/** The SHA-256 of a text's UTF-8 bytes in hex digits, by the platform's WebCrypto. Throws CRYPTO_MISSING. */
export async function sha256Hex(text: string): Promise<string> {
  // The types promise it; pages without https have none.
  const subtle = globalThis.crypto?.subtle
  if (!subtle)
    throw new ToolsError(
      'CRYPTO_MISSING',
      'A SHA-256 is needed, and the platform has no crypto.subtle; a page has it under https only.',
    )
  const bytes = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
