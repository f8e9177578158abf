import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MODULE_VERSION_BYTES } from './count-totals.ts'

export type LayerRow = {
  readonly epoch: string
  readonly revision: number
  readonly size: number
  readonly bytes: number
  readonly present_bytes: number
  readonly deleted: number
  readonly floor: number
}

/** A past version, or the deletion of a name. */
export type PastRow = { readonly name: string; readonly revision: number }

/** What every layer holds together. */
export type StoreRow = { readonly bytes: number; readonly present_bytes: number; readonly layers: number }

/** A null text is the tombstone of a deleted definition. */
export type DefinitionRow = {
  readonly name: string
  readonly revision: number
  readonly digest: string
  readonly text: string | null
  readonly updated_at: string
  readonly updated_by: string
}

export type VersionRow = {
  readonly revision: number
  readonly digest: string | null
  readonly text: string | null
  readonly at: string
  readonly by: string
}

export type ModuleRow = {
  readonly name: string
  readonly revision: number
  readonly sha256: string
  /** A JSON array of names. */
  readonly tools: string
  readonly report: string
  readonly updated_at: string
  readonly updated_by: string
}

export type ModuleVersionRow = {
  readonly revision: number
  readonly sha256: string | null
  readonly tools: string
  readonly at: string
  readonly by: string
}

export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>

const SQL = {
  layer: 'SELECT epoch, revision, size, bytes, present_bytes, deleted, floor FROM layers WHERE layer = ?',
  putLayer: `INSERT INTO layers (layer, epoch, revision, size) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, size = excluded.size`,
  putTotals: 'UPDATE layers SET bytes = ?, present_bytes = ?, deleted = ?, floor = ? WHERE layer = ?',
  store: `SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(present_bytes), 0) AS present_bytes,
    count(*) AS layers FROM layers`,
  layerWithMostPast: 'SELECT layer FROM layers ORDER BY bytes - present_bytes DESC LIMIT 1',
  definition:
    'SELECT name, revision, digest, text, updated_at, updated_by FROM definitions WHERE layer = ? AND name = ?',
  changed: `SELECT name, revision, digest, text, updated_at, updated_by FROM definitions
    WHERE layer = ? AND revision > ?`,
  put: `INSERT INTO definitions (layer, name, revision, digest, text, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, digest = excluded.digest, text = excluded.text,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
  addVersion:
    'INSERT INTO versions (layer, name, revision, digest, text, at, by) VALUES (?, ?, ?, ?, ?, ?, ?)',
  surplusVersions:
    'SELECT revision FROM versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT -1 OFFSET ?',
  addPast: 'INSERT INTO past_versions (layer, revision, name) VALUES (?, ?, ?)',
  dropPast: 'DELETE FROM past_versions WHERE layer = ? AND revision = ? AND name = ?',
  oldestPast: 'SELECT name, revision FROM past_versions WHERE layer = ? ORDER BY revision, name LIMIT 1',
  dropVersion: `DELETE FROM versions WHERE layer = ? AND name = ? AND revision = ?
    RETURNING coalesce(octet_length(text), 0) AS bytes`,
  oldestDeleted: `SELECT name, revision FROM definitions WHERE layer = ? AND text IS NULL ORDER BY revision, name LIMIT 1`,
  dropDeleted: 'DELETE FROM definitions WHERE layer = ? AND name = ? AND revision = ? AND text IS NULL',
  versions:
    'SELECT revision, digest, text, at, by FROM versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT ?',
  module: `SELECT name, revision, sha256, tools, report, updated_at, updated_by FROM modules
    WHERE layer = ? AND name = ?`,
  modules: `SELECT name, revision, sha256, tools, updated_at, updated_by FROM modules
    WHERE layer = ? AND name > ? ORDER BY name LIMIT ?`,
  putModule: `INSERT INTO modules (layer, name, revision, sha256, tools, report, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, sha256 = excluded.sha256, tools = excluded.tools,
      report = excluded.report, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
  deleteModule: 'DELETE FROM modules WHERE layer = ? AND name = ?',
  addModuleVersion:
    'INSERT INTO module_versions (layer, name, revision, sha256, tools, at, by, past) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  dropModuleVersions: `DELETE FROM module_versions WHERE layer = ? AND name = ? AND revision <=
    (SELECT revision FROM module_versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)
    RETURNING ${MODULE_VERSION_BYTES} AS bytes`,
  passModuleVersion: 'UPDATE module_versions SET past = 1 WHERE layer = ? AND name = ? AND past = 0',
  presentModuleVersion: `SELECT ${MODULE_VERSION_BYTES} AS bytes FROM module_versions
    WHERE layer = ? AND name = ? AND past = 0`,
  oldestModulePast: `SELECT name, revision FROM module_versions WHERE layer = ? AND past = 1
    ORDER BY revision, name LIMIT 1`,
  dropModuleVersion: `DELETE FROM module_versions WHERE layer = ? AND name = ? AND revision = ?
    RETURNING ${MODULE_VERSION_BYTES} AS bytes`,
  oldestDeletedModule: `SELECT name, revision FROM module_versions AS deletion WHERE layer = ? AND sha256 IS NULL
    AND NOT EXISTS (SELECT 1 FROM module_versions WHERE layer = deletion.layer AND name = deletion.name
      AND revision > deletion.revision) ORDER BY revision, name LIMIT 1`,
  moduleVersionsOf: 'SELECT count(*) AS versions FROM module_versions WHERE layer = ? AND name = ?',
  moduleVersions: `SELECT revision, sha256, tools, at, by FROM module_versions
    WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT ?`,
  putBlob: 'INSERT INTO blobs (layer, sha256, source) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  dropBlobs: `DELETE FROM blobs WHERE layer = ? AND NOT EXISTS
    (SELECT 1 FROM module_versions WHERE module_versions.layer = blobs.layer AND module_versions.sha256 = blobs.sha256)`,
  source: 'SELECT source FROM blobs WHERE layer = ? AND sha256 = ?',
} as const

export function prepareStatements(database: DatabaseSync): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)])
  return Object.fromEntries(prepared) as Statements
}
