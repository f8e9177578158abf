import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type LayerRow = { readonly epoch: string; readonly revision: number; readonly size: number }

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
  layer: 'SELECT epoch, revision, size FROM layers WHERE layer = ?',
  putLayer: `INSERT INTO layers (layer, epoch, revision, size) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, size = excluded.size`,
  definition:
    'SELECT name, revision, digest, text, updated_at, updated_by FROM definitions WHERE layer = ? AND name = ?',
  changed: `SELECT name, revision, digest, text, updated_at, updated_by FROM definitions
    WHERE layer = ? AND revision > ?`,
  put: `INSERT INTO definitions (layer, name, revision, digest, text, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, digest = excluded.digest, text = excluded.text,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
  addVersion:
    'INSERT INTO versions (layer, name, revision, digest, text, at, by) VALUES (?, ?, ?, ?, ?, ?, ?)',
  dropVersions: `DELETE FROM versions WHERE layer = ? AND name = ? AND revision <=
    (SELECT revision FROM versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)`,
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
    'INSERT INTO module_versions (layer, name, revision, sha256, tools, at, by) VALUES (?, ?, ?, ?, ?, ?, ?)',
  dropModuleVersions: `DELETE FROM module_versions WHERE layer = ? AND name = ? AND revision <=
    (SELECT revision FROM module_versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)`,
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
