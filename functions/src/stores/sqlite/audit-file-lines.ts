import { DatabaseSync } from 'node:sqlite'

const CHANGED = `'{"a column of this record was changed":true,' || substr(text, 2)`

/**
 * The text of a record. Other columns have copies of parts of this text, for searches and erasures. If one of these copies was
 * changed, the text gets a member that says so. Then the verifier refuses the record.
 */
export const CHECKED_TEXT = `CASE
  WHEN NOT json_valid(text) THEN text
  WHEN day IS NOT text ->> '$.day' OR instance IS NOT text ->> '$.instance' OR seq IS NOT text ->> '$.seq' THEN ${CHANGED}
  WHEN text ->> '$.erased' IS NOT NULL AND kind = 'erased' AND uid = '' AND tool IS NULL AND outcome = ''
    AND place IS printf('%sT00:00:00.000Z/%s/%010d', day, instance, seq) THEN text
  WHEN kind IS text ->> '$.kind' AND uid IS text ->> '$.principal.uid' AND tool IS text ->> '$.tool'
    AND outcome IS text ->> '$.outcome' AND place IS printf('%s/%s/%010d', text ->> '$.at', instance, seq) THEN text
  ELSE ${CHANGED}
  END AS text`

/** The text of a manifest. Its copies are checked in the same way. */
export const CHECKED_MANIFEST = `CASE
  WHEN NOT json_valid(text) OR day IS text ->> '$.day' THEN text ELSE ${CHANGED} END AS text`

/** The lines of an export, read from a copy of `audit.sqlite`. The file is not changed. */
export function* auditFileLines(path: string): Generator<string> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    yield* auditLines(database)
  } finally {
    database.close()
  }
}

export function* auditLines(database: DatabaseSync): Generator<string> {
  const records = database.prepare(`SELECT ${CHECKED_TEXT} FROM records ORDER BY day, instance, seq`)
  for (const row of records.iterate()) yield String(row['text'])
  const manifests = database.prepare(`SELECT ${CHECKED_MANIFEST} FROM manifests ORDER BY day`)
  for (const row of manifests.iterate()) yield String(row['text'])
}
