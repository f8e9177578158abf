import { DatabaseSync } from 'node:sqlite'
import { DatabaseFileError } from './open-database.ts'
import { isDamaged, sqliteError, tablesVersion } from './transaction.ts'

/** The rule sets of everybody (the scope is empty) or of one user and that user's workflows, as one JSON text. */
const RULES = `
  CREATE TABLE rules (
    scope TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** The approvals of each user as one JSON text, and beside it the arguments, which are larger. */
const APPROVALS = `
  CREATE TABLE approvals (
    uid TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    erase_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approvals_by_end ON approvals (erase_at);
  CREATE TABLE approval_arguments (
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (uid, id)
  ) STRICT;
  CREATE TRIGGER approvals_went AFTER DELETE ON approvals BEGIN
    DELETE FROM approval_arguments WHERE uid = OLD.uid;
  END;
`

/** The changes from each version of the tables to the next. An older file gets only the changes after its version. */
const STEPS = [RULES, APPROVALS]

/**
 * Opens the database of what governs calls, and makes its tables. A commit does not wait for the disk (WAL, synchronous NORMAL):
 * a killed process loses nothing, but a power cut may lose the last moments. The busy timeout is zero, as in `openDatabase`.
 * A test passes `:memory:`.
 */
export function openGovernance(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Arguments and results that are erased are overwritten in the file.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;')
    const version = tablesVersion(database)
    if (version > STEPS.length)
      throw new DatabaseFileError('the database was written by a newer version of Toolrack')
    if (version < STEPS.length) {
      const steps = STEPS.slice(version).join('')
      database.exec(`BEGIN IMMEDIATE; ${steps} PRAGMA user_version = ${STEPS.length}; COMMIT;`)
    }
    return database
  } catch (error) {
    database.close()
    if (isDamaged(error))
      throw new DatabaseFileError('the database file is damaged or is not a database', { cause: error })
    throw error instanceof DatabaseFileError ? error : sqliteError(error)
  }
}
