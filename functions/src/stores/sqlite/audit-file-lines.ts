import { DatabaseSync } from 'node:sqlite'

/**
 * The text of a record. Searches and erasures use columns with copies of what is in it. If one of them was changed, the text gets a
 * member that says so, and then no longer has its hash. The content of an erased record has no copies.
 */
export const CHECKED_TEXT = `CASE
  WHEN NOT json_valid(text) OR text ->> '$.erased' IS NOT NULL THEN text
  WHEN kind IS text ->> '$.kind' AND uid IS text ->> '$.principal.uid' AND tool IS text ->> '$.tool'
    AND outcome IS text ->> '$.outcome' AND place IS printf('%s/%s/%010d', text ->> '$.at', instance, seq) THEN text
  ELSE '{"a column of this record was changed":true,' || substr(text, 2)
  END AS text`

/** The lines of a copy of `audit.sqlite`, as an export has them. The file is not changed. */
export function* auditFileLines(path: string): Generator<string> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const records = database.prepare(`SELECT ${CHECKED_TEXT} FROM records ORDER BY day, instance, seq`)
    for (const row of records.iterate()) yield String(row['text'])
    for (const row of database.prepare('SELECT text FROM manifests ORDER BY day').iterate())
      yield String(row['text'])
  } finally {
    database.close()
  }
}
