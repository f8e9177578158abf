import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

/** What a wheel has. The paths of `files` are relative to the folder into which it is installed. */
export type WheelSpec = {
  readonly name: string
  readonly version: string
  readonly files: Readonly<Record<string, string | Uint8Array>>
  /** The requirements of the package, such as `tiny-two>=1`. */
  readonly requires?: readonly string[]
  readonly requiresPython?: string
  readonly tag?: string
}

export type WrittenWheel = { readonly file: string; readonly path: string; readonly sha256: string }

/** Writes a wheel into the folder. */
export function writeWheel(folder: string, spec: WheelSpec): WrittenWheel {
  const bytes = wheelOf(spec)
  const file = `${distributionOf(spec)}-${spec.tag ?? 'py3-none-any'}.whl`
  const path = join(folder, file)
  writeFileSync(path, bytes)
  return { file, path, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function wheelOf(spec: WheelSpec): Buffer {
  const { name, version, files, requires = [], requiresPython, tag = 'py3-none-any' } = spec
  const info = `${distributionOf(spec)}.dist-info`
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${version}`,
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
    ...requires.map((requirement) => `Requires-Dist: ${requirement}`),
  ]
  const wheel = ['Wheel-Version: 1.0', 'Generator: test', 'Root-Is-Purelib: true', `Tag: ${tag}`]
  const all = {
    ...files,
    [`${info}/METADATA`]: `${metadata.join('\n')}\n`,
    [`${info}/WHEEL`]: `${wheel.join('\n')}\n`,
  }
  const entries = Object.entries(all).map(([path, content]) => ({ path, content: Buffer.from(content) }))
  const rows = entries.map(({ path, content }) => `${path},sha256=${hashOf(content)},${content.length}`)
  const record = `${info}/RECORD`
  const recordContent = Buffer.from(`${[...rows, `${record},,`].join('\n')}\n`)
  return zipOf([...entries, { path: record, content: recordContent }])
}

/** The start of the names of a wheel's file and of its folder of metadata. */
function distributionOf({ name, version }: WheelSpec): string {
  return `${name.replaceAll(/[-.]/g, '_')}-${version}`
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url')
}

/** The mode of every file: a regular file with 0755, because the file may be a program. */
const MODE = 0o100755

/** A zip archive whose files are not compressed. */
function zipOf(entries: readonly { readonly path: string; readonly content: Buffer }[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { path, content } of entries) {
    const name = Buffer.from(path)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0) // the version that is needed to read it
    facts.writeUInt32LE(0x00210000, 6) // 1980-01-01, the first day that a zip can state
    facts.writeUInt32LE(crc32(content), 10)
    facts.writeUInt32LE(content.length, 14)
    facts.writeUInt32LE(content.length, 18)
    facts.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts, name, content])
    const more = Buffer.alloc(14)
    more.writeUInt32LE((MODE << 16) >>> 0, 6)
    more.writeUInt32LE(offset, 10)
    // Made by Unix, so that the mode counts.
    const made = Buffer.from([20, 3])
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), made, facts, more, name]))
    parts.push(local)
    offset += local.length
  }
  const bytes = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(bytes.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, bytes, end])
}
