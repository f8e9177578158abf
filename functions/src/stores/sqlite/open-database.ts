import type { DatabaseSync } from 'node:sqlite'
import { RECORD_BYTES } from '../../catalog/definitions/layer-totals.ts'
import { openDatabaseFile, type DatabaseKind } from './database-file.ts'

/**
 * The tables of definitions and modules. The row of a layer has the totals of its content, as `layer-totals.ts` counts them. A
 * version is past if a newer version or a deletion has replaced it. Only past versions are removed to make room, so only they
 * have an index by age. Past versions of definitions are listed in a separate table, because a mark in their rows would cause a
 * second write of each row. `tokens` is what `storedTokens` writes, or null if they were not counted. If `has_files` is 1,
 * `source` is the JSON of several files (`keptText`). The lock of a module's packages is a row of `blobs` too: its `sha256` is
 * the lock's key (`lockKey`), and `source` is its text. `environment` is the digest of the lock, and `granted` is what
 * `grantsText` writes. A row of `modules` without a `sha256` is a deleted module: its `granted` is what `revocationText` writes.
 * Other deleted modules have no row.
 */
const SCHEMA = `
  CREATE TABLE layers (
    layer TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    size INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    present_bytes INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    floor INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE definitions (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    digest TEXT NOT NULL,
    text TEXT,
    updated_at TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    tokens TEXT,
    PRIMARY KEY (layer, name)
  ) STRICT;
  CREATE INDEX definitions_by_revision ON definitions (layer, revision);
  CREATE INDEX definitions_deleted ON definitions (layer, revision, name) WHERE text IS NULL;
  CREATE TABLE versions (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    digest TEXT,
    text TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (layer, name, revision)
  ) STRICT;
  CREATE TABLE past_versions (
    layer TEXT NOT NULL,
    revision INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (layer, revision, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE modules (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    tools TEXT NOT NULL,
    report TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    environment TEXT,
    granted TEXT,
    PRIMARY KEY (layer, name)
  ) STRICT;
  CREATE TABLE module_versions (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    sha256 TEXT,
    tools TEXT NOT NULL,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    past INTEGER NOT NULL DEFAULT 0,
    environment TEXT,
    PRIMARY KEY (layer, name, revision)
  ) STRICT;
  CREATE INDEX module_versions_by_sha256 ON module_versions (layer, sha256);
  CREATE INDEX module_versions_past ON module_versions (layer, revision, name) WHERE past = 1;
  CREATE INDEX module_deletions ON module_versions (layer, revision, name) WHERE sha256 IS NULL;
  CREATE TABLE blobs (
    layer TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source TEXT NOT NULL,
    has_files INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (layer, sha256)
  ) STRICT;
`

/** SQL for the `lockKey` of a module's version. Null if the version has no lock. */
export const LOCK_KEY = "module_versions.sha256 || '.' || substr(module_versions.environment, 8)"

/** SQL for the bytes of a module's version, as `recordBytes` counts them. A deletion has neither a source nor tools. */
export const MODULE_VERSION_BYTES = `${RECORD_BYTES} + (CASE WHEN sha256 IS NULL THEN 0 ELSE octet_length(tools) + coalesce((SELECT octet_length(source)
  FROM blobs WHERE blobs.layer = module_versions.layer AND blobs.sha256 = module_versions.sha256), 0) + coalesce((SELECT octet_length(source)
  FROM blobs WHERE blobs.layer = module_versions.layer AND blobs.sha256 = ${LOCK_KEY}), 0) END)`

/** SQL for the bytes of a definition, or of a version of a definition. */
export const DEFINITION_BYTES = `${RECORD_BYTES} + coalesce(octet_length(text), 0)`
export const MODULE_BYTES = `${RECORD_BYTES} + octet_length(report) + octet_length(tools) + coalesce(octet_length(granted), 0)`

const DEFINITION_STORE: DatabaseKind = {
  // The application id is "TRdf" in ASCII.
  applicationId: 0x54_52_64_66,
  schema: SCHEMA,
  version: 7,
  // Version 7 added the locks and grants of modules.
  upgrade: {
    from: 6,
    sql: `ALTER TABLE modules ADD COLUMN environment TEXT; ALTER TABLE modules ADD COLUMN granted TEXT;
      ALTER TABLE module_versions ADD COLUMN environment TEXT;`,
  },
  settings: 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;',
}

/** Opens the database of definitions and modules. A commit returns only after its data is on the disk (WAL, synchronous FULL). */
export function openDatabase(path: string): DatabaseSync {
  return openDatabaseFile(path, DEFINITION_STORE)
}
