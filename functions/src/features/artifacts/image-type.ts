/** How a file of each type begins. `null` stands for any byte. */
const BEGINNINGS: readonly (readonly [type: string, beginning: readonly (number | null)[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46, null, null, null, null, 0x57, 0x45, 0x42, 0x50]],
]

/**
 * The type of an image that browsers and vendors of models show, by its first bytes. Undefined for all other contents, whatever
 * their maker calls them.
 */
export function imageType(bytes: Uint8Array): string | undefined {
  const fits = (beginning: readonly (number | null)[]): boolean =>
    beginning.every((byte, at) => (byte === null ? at < bytes.length : bytes[at] === byte))
  return BEGINNINGS.find(([, beginning]) => fits(beginning))?.[0]
}
