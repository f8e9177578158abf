import { crc32, deflateSync } from 'node:zlib'
import { randomBytes } from 'node:crypto'

/** A PNG of random pixels. They cannot be compressed, so a square of 316 pixels has about 300 kB. */
export function randomPng(pixels: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(pixels, 0)
  header.writeUInt32BE(pixels, 4)
  header.set([8, 2], 8) // 8 bits of red, green and blue
  const lines = Array.from({ length: pixels }, () =>
    Buffer.concat([Buffer.alloc(1), randomBytes(3 * pixels)]),
  )
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, content: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), content])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}
