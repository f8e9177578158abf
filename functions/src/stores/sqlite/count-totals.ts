import { RECORD_BYTES } from '../../tools/definitions/layer-totals.ts'

/** Of a version of a module without its record. A deletion has neither a source nor tools. */
export const MODULE_VERSION_BYTES = `(CASE WHEN sha256 IS NULL THEN 0 ELSE octet_length(tools) + coalesce((SELECT octet_length(source)
  FROM blobs WHERE blobs.layer = module_versions.layer AND blobs.sha256 = module_versions.sha256), 0) END)`

const DEFINITION = `${RECORD_BYTES} + coalesce(octet_length(text), 0)`
const MODULE = `${RECORD_BYTES} + octet_length(report) + octet_length(tools)`
const MODULE_VERSION = `${RECORD_BYTES} + ${MODULE_VERSION_BYTES}`
const OF_LAYER = 'layer = layers.layer'

const PRESENT_VERSIONS = `versions WHERE ${OF_LAYER} AND NOT EXISTS (SELECT 1 FROM past_versions
  WHERE past_versions.layer = versions.layer AND past_versions.revision = versions.revision AND past_versions.name = versions.name)`

/** A deleted module has no row of its own, but counts as a name as long as it has a version. */
const DELETED_MODULES = `(SELECT count(DISTINCT name) FROM module_versions WHERE ${OF_LAYER} AND NOT EXISTS
  (SELECT 1 FROM modules WHERE modules.layer = module_versions.layer AND modules.name = module_versions.name))`

const sum = (bytes: string, of: string): string => `(SELECT coalesce(sum(${bytes}), 0) FROM ${of})`

/** Counts every layer by what lies there, as `layer-totals.ts` counts it. */
export const COUNT_TOTALS = `UPDATE layers SET
  bytes = ${sum(DEFINITION, `definitions WHERE ${OF_LAYER}`)} + ${sum(DEFINITION, `versions WHERE ${OF_LAYER}`)}
    + ${sum(MODULE, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION, `module_versions WHERE ${OF_LAYER}`)}
    + ${RECORD_BYTES} * ${DELETED_MODULES},
  present_bytes = ${sum(DEFINITION, `definitions WHERE ${OF_LAYER} AND text IS NOT NULL`)}
    + ${sum(DEFINITION, PRESENT_VERSIONS)}
    + ${sum(MODULE, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION, `module_versions WHERE ${OF_LAYER} AND past = 0`)},
  deleted = (SELECT count(*) FROM definitions WHERE ${OF_LAYER} AND text IS NULL) + ${DELETED_MODULES};`
