import type { DatabaseSync } from 'node:sqlite'
import { RECORD_BYTES } from '../../catalog/definitions/layer-totals.ts'
import { openDatabaseFile, type DatabaseKind } from './database-file.ts'

const DEFINITIONS = `
  CREATE TABLE layers (
    layer TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    size INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE definitions (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    digest TEXT NOT NULL,
    text TEXT,
    updated_at TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (layer, name)
  ) STRICT;
  CREATE INDEX definitions_by_revision ON definitions (layer, revision);
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
`

const MODULES = `
  CREATE TABLE modules (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    tools TEXT NOT NULL,
    report TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    updated_by TEXT NOT NULL,
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
    PRIMARY KEY (layer, name, revision)
  ) STRICT;
  CREATE INDEX module_versions_by_sha256 ON module_versions (layer, sha256);
  CREATE TABLE blobs (
    layer TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (layer, sha256)
  ) STRICT;
`

/** The bytes of a module's version in SQL, as `recordBytes` counts them. A deletion has neither a source nor tools. */
export const MODULE_VERSION_BYTES = `${RECORD_BYTES} + (CASE WHEN sha256 IS NULL THEN 0 ELSE octet_length(tools) + coalesce((SELECT octet_length(source)
  FROM blobs WHERE blobs.layer = module_versions.layer AND blobs.sha256 = module_versions.sha256), 0) END)`

/** The bytes of a definition, and of a version of a definition, in SQL. */
export const DEFINITION_BYTES = `${RECORD_BYTES} + coalesce(octet_length(text), 0)`
export const MODULE_BYTES = `${RECORD_BYTES} + octet_length(report) + octet_length(tools)`
const OF_LAYER = 'layer = layers.layer'

const PRESENT_VERSIONS = `versions WHERE ${OF_LAYER} AND NOT EXISTS (SELECT 1 FROM past_versions
  WHERE past_versions.layer = versions.layer AND past_versions.revision = versions.revision AND past_versions.name = versions.name)`

/** The number of deleted modules. A deleted module has no row in `modules`, but it counts as long as it has a version. */
const DELETED_MODULES = `(SELECT count(DISTINCT name) FROM module_versions WHERE ${OF_LAYER} AND NOT EXISTS
  (SELECT 1 FROM modules WHERE modules.layer = module_versions.layer AND modules.name = module_versions.name))`

const sum = (bytes: string, of: string): string => `(SELECT coalesce(sum(${bytes}), 0) FROM ${of})`

/** Computes the totals of every layer from its rows, as `layer-totals.ts` counts them. */
const COUNT_TOTALS = `UPDATE layers SET
  bytes = ${sum(DEFINITION_BYTES, `definitions WHERE ${OF_LAYER}`)} + ${sum(DEFINITION_BYTES, `versions WHERE ${OF_LAYER}`)}
    + ${sum(MODULE_BYTES, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION_BYTES, `module_versions WHERE ${OF_LAYER}`)}
    + ${RECORD_BYTES} * ${DELETED_MODULES},
  present_bytes = ${sum(DEFINITION_BYTES, `definitions WHERE ${OF_LAYER} AND text IS NOT NULL`)}
    + ${sum(DEFINITION_BYTES, PRESENT_VERSIONS)}
    + ${sum(MODULE_BYTES, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION_BYTES, `module_versions WHERE ${OF_LAYER} AND past = 0`)},
  deleted = (SELECT count(*) FROM definitions WHERE ${OF_LAYER} AND text IS NULL) + ${DELETED_MODULES};`

/**
 * The row of a layer has the totals of its content. A version is past if a newer version or a deletion has replaced it. Only past
 * versions are removed to make room, so only they have an index by age. Past versions of definitions are listed in a separate
 * table, because a mark in their rows would cause a second write of each row.
 */
const TOTALS = `
  ALTER TABLE layers ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE layers ADD COLUMN present_bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE layers ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE layers ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE module_versions ADD COLUMN past INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE past_versions (
    layer TEXT NOT NULL,
    revision INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (layer, revision, name)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO past_versions SELECT layer, revision, name FROM versions WHERE NOT EXISTS (SELECT 1 FROM definitions
    WHERE definitions.layer = versions.layer AND definitions.name = versions.name
      AND definitions.revision = versions.revision AND definitions.text IS NOT NULL);
  UPDATE module_versions SET past = 1 WHERE NOT EXISTS (SELECT 1 FROM modules
    WHERE modules.layer = module_versions.layer AND modules.name = module_versions.name
      AND modules.revision = module_versions.revision);
  CREATE INDEX module_versions_past ON module_versions (layer, revision, name) WHERE past = 1;
  CREATE INDEX definitions_deleted ON definitions (layer, revision, name) WHERE text IS NULL;
  CREATE INDEX module_deletions ON module_versions (layer, revision, name) WHERE sha256 IS NULL;
  ${COUNT_TOTALS}
`

/** If `has_files` is 1, `source` is the JSON of several files (`keptText`). */
const FILES = 'ALTER TABLE blobs ADD COLUMN has_files INTEGER NOT NULL DEFAULT 0;'

/** The tokens of a definition, as `storedTokens` writes them. Null if they were not counted. */
const TOKENS = 'ALTER TABLE definitions ADD COLUMN tokens TEXT;'

const DEFINITION_STORE: DatabaseKind = {
  // "TRdf"
  applicationId: 0x54_52_64_66,
  steps: [DEFINITIONS, MODULES, TOTALS, FILES, TOKENS],
  settings: 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;',
}

/** Opens the database of definitions and modules. A commit returns only after its data is on the disk (WAL, synchronous FULL). */
export function openDatabase(path: string): DatabaseSync {
  return openDatabaseFile(path, DEFINITION_STORE)
}
