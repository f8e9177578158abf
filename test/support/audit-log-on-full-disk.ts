/** Writes the copy of an audit trail on a disk that becomes full, and again when there is room. Prints what became of it as JSON. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { auditLogFile } from '../../functions/src/hosts/local/audit-log-file.ts'

const disk = process.argv[2] ?? ''
const path = join(disk, 'audit.jsonl')
const filler = join(disk, 'filler')
let errors = 0
const file = auditLogFile(path, { error: () => void (errors += 1) })
const line = (text: string): string => JSON.stringify({ text: text.repeat(2_500) })

// Room for one line and a part of the next one: a disk is filled page by page.
writeFileSync(filler, Buffer.alloc(1024 * 1024 - 3 * 4_096))
for (let count = 0; count < 6; count += 1) file.copy([line('full')])
rmSync(filler)
const errorsWhileFull = errors
file.copy([line('room'), line('more')])
file.close()
const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
console.log(
  JSON.stringify({
    errorsWhileFull,
    errors,
    damaged: lines.filter((each) => !isWhole(each)).length,
    last: lines.slice(-2).every(isWhole),
  }),
)

function isWhole(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}
