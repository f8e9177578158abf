import { DatabaseSync } from 'node:sqlite'

/** The lines of a copy of `audit.sqlite`, as an export has them. The file is not changed. */
export function* auditFileLines(path: string): Generator<string> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const records = database.prepare('SELECT text FROM records ORDER BY day, instance, seq')
    for (const row of records.iterate()) yield String(row['text'])
    for (const row of database.prepare('SELECT text FROM manifests ORDER BY day').iterate())
      yield String(row['text'])
  } finally {
    database.close()
  }
}
