/** A ZIP archive with one file in it, not compressed: all that a jar needs which only points at another jar. */
export function storedZip(name, text) {
  const path = Buffer.from(name)
  const content = Buffer.from(text)
  const entry = Buffer.alloc(26)
  entry.writeUInt16LE(20, 0) // version needed
  entry.writeUInt16LE(0x21, 8) // 1980-01-01: the same bytes on every day
  entry.writeUInt32LE(crc32(content), 10)
  entry.writeUInt32LE(content.length, 14)
  entry.writeUInt32LE(content.length, 18)
  entry.writeUInt16LE(path.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), entry, path, content])
  const directory = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), entry, Buffer.alloc(14), path])
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4) // entries on this disk
  end.writeUInt16LE(1, 6) // entries
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(local.length, 12)
  return Buffer.concat([local, directory, Buffer.from('PK\x05\x06'), end])
}

/** Node has one of its own from 20.15 on; these scripts start on any 20. */
function crc32(bytes) {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
