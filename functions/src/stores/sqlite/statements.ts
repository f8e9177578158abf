import type { DatabaseSync } from 'node:sqlite'
import type { LayerState } from '../../catalog/definitions/layer-state.ts'
import type { LayerTotals } from '../../catalog/definitions/layer-totals.ts'
import type { ModuleRecord, ModuleVersionRecord } from '../../catalog/definitions/stored-records.ts'
import { DEFINITION_BYTES, LOCK_KEY, MODULE_BYTES, MODULE_VERSION_BYTES } from './open-database.ts'
import { prepareAll } from './transaction.ts'

export type LayerRow = Omit<LayerState, 'totals'> & LayerTotals

/** The sums of all layers. */
export type StoreRow = Pick<LayerTotals, 'bytes' | 'presentBytes'> & { readonly layers: number }

/** `tools` is a JSON array of names. */
export type ModuleRow = Omit<ModuleRecord, 'tools'> & { readonly tools: string }
export type ModuleVersionRow = Omit<ModuleVersionRecord, 'tools'> & { readonly tools: string }

/** `source` is the text that `keptText` makes of a module's content. */
export type BlobRow = { readonly source: string; readonly hasFiles: number }

const DEFINITION =
  'SELECT name, revision, digest, text, tokens, updated_at AS updatedAt, updated_by AS updatedBy FROM definitions'
const MODULE =
  'name, revision, sha256, environment, tools, granted, updated_at AS updatedAt, updated_by AS updatedBy'
const OLDEST_FIRST = 'ORDER BY revision, name LIMIT ?'

const SQL = {
  layer: `SELECT epoch, revision, size, floor, bytes, present_bytes AS presentBytes, deleted
    FROM layers WHERE layer = ?`,
  putLayer: `INSERT INTO layers (layer, epoch, revision, size, bytes, present_bytes, deleted, floor) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, size = excluded.size, bytes = excluded.bytes,
      present_bytes = excluded.present_bytes, deleted = excluded.deleted, floor = excluded.floor`,
  store: `SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(present_bytes), 0) AS presentBytes,
    count(*) AS layers FROM layers`,
  layerWithMostPast: 'SELECT layer FROM layers ORDER BY bytes - present_bytes DESC LIMIT 1',

  definition: `${DEFINITION} WHERE layer = ? AND name = ?`,
  changed: `${DEFINITION} WHERE layer = ? AND revision > ?`,
  putDefinition: `INSERT INTO definitions (layer, name, revision, digest, text, tokens, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, digest = excluded.digest, text = excluded.text,
      tokens = excluded.tokens, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
  dropDefinition: 'DELETE FROM definitions WHERE layer = ? AND name = ?',
  definitionName: `SELECT text IS NULL AS isDeleted, ${DEFINITION_BYTES} AS ownBytes
    FROM definitions WHERE layer = ? AND name = ?`,
  deletedDefinitions: `SELECT name, revision FROM definitions WHERE layer = ? AND text IS NULL ${OLDEST_FIRST}`,

  versions:
    'SELECT revision, digest, text, at, by FROM versions WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT ?',
  keptVersions: `SELECT revision, ${DEFINITION_BYTES} AS bytes FROM versions
    WHERE layer = ? AND name = ? ORDER BY revision`,
  surplusVersions: `SELECT revision, ${DEFINITION_BYTES} AS bytes FROM versions
    WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT -1 OFFSET ?`,
  addVersion:
    'INSERT INTO versions (layer, name, revision, digest, text, at, by) VALUES (?, ?, ?, ?, ?, ?, ?)',
  dropVersion: 'DELETE FROM versions WHERE layer = ? AND name = ? AND revision = ?',
  oldestVersions: `SELECT name, revision FROM past_versions WHERE layer = ? ${OLDEST_FIRST}`,
  addPast: 'INSERT INTO past_versions (layer, name, revision) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  dropPast: 'DELETE FROM past_versions WHERE layer = ? AND name = ? AND revision = ?',

  module: `SELECT ${MODULE}, report FROM modules WHERE layer = ? AND name = ? AND sha256 <> ''`,
  modules: `SELECT ${MODULE} FROM modules WHERE layer = ? AND name > ? AND sha256 <> '' ORDER BY name LIMIT ?`,
  revocation: "SELECT granted FROM modules WHERE layer = ? AND name = ? AND sha256 = ''",
  putModule: `INSERT INTO modules (layer, name, revision, sha256, environment, tools, granted, report, updated_at, updated_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, sha256 = excluded.sha256,
      environment = excluded.environment, tools = excluded.tools, granted = excluded.granted,
      report = excluded.report, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
  putGranted: 'UPDATE modules SET granted = ? WHERE layer = ? AND name = ?',
  deleteModule: 'DELETE FROM modules WHERE layer = ? AND name = ?',
  moduleName: `SELECT 0 AS isDeleted, ${MODULE_BYTES} AS ownBytes
    FROM modules WHERE layer = ? AND name = ?`,
  deletedModules: `SELECT name, revision FROM module_versions AS deletion WHERE layer = ? AND sha256 IS NULL
    AND NOT EXISTS (SELECT 1 FROM module_versions WHERE layer = deletion.layer AND name = deletion.name
      AND revision > deletion.revision) ${OLDEST_FIRST}`,

  moduleVersions: `SELECT revision, sha256, environment, tools, at, by FROM module_versions
    WHERE layer = ? AND name = ? ORDER BY revision DESC LIMIT ?`,
  keptModuleVersions: `SELECT revision, sha256, environment, ${MODULE_VERSION_BYTES} AS bytes FROM module_versions
    WHERE layer = ? AND name = ? ORDER BY revision`,
  passModuleVersion: 'UPDATE module_versions SET past = 1 WHERE layer = ? AND name = ? AND past = 0',
  addModuleVersion: `INSERT INTO module_versions (layer, name, revision, sha256, environment, tools, at, by, past)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  dropModuleVersion: 'DELETE FROM module_versions WHERE layer = ? AND name = ? AND revision = ?',
  oldestModuleVersions: `SELECT name, revision FROM module_versions WHERE layer = ? AND past = 1 ${OLDEST_FIRST}`,

  source: 'SELECT source, has_files AS hasFiles FROM blobs WHERE layer = ? AND sha256 = ?',
  putBlob: 'INSERT INTO blobs (layer, sha256, source, has_files) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  putLock: `INSERT INTO blobs (layer, sha256, source) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET source = excluded.source`,
  dropBlobs: `DELETE FROM blobs WHERE layer = ? AND NOT EXISTS
    (SELECT 1 FROM module_versions WHERE module_versions.layer = blobs.layer AND module_versions.sha256 = blobs.sha256) AND NOT EXISTS
    (SELECT 1 FROM module_versions WHERE module_versions.layer = blobs.layer
      AND module_versions.sha256 = substr(blobs.sha256, 1, 64) AND ${LOCK_KEY} = blobs.sha256)`,
} as const

export const prepareStatements = (database: DatabaseSync) => prepareAll(database, SQL)
export type Statements = ReturnType<typeof prepareStatements>
