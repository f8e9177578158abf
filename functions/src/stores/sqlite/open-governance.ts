import type { DatabaseSync } from 'node:sqlite'
import { openDatabaseFile, type DatabaseKind } from './database-file.ts'

/**
 * The tables for the documents of all collections. So a new collection needs no new table. `place` is the value by which
 * documents are listed. Bodies and earlier versions are in separate tables, because most reads do not need them. The bodies are
 * numbered in the order in which they were stored, because the clock can be set back. Triggers update the sums of each owner and
 * of each collection.
 */
const SCHEMA = `
  CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    place ANY,
    expires_at INTEGER,
    UNIQUE (collection, owner, key)
  ) STRICT;
  CREATE INDEX documents_by_place ON documents (collection, owner, place, key) WHERE place IS NOT NULL;
  CREATE INDEX documents_by_end ON documents (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE document_bodies (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL UNIQUE,
    collection TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX document_bodies_by_owner ON document_bodies (collection, owner, number);
  CREATE TABLE document_versions (document INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE document_sums (
    collection TEXT NOT NULL,
    owner TEXT NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (collection, owner)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX document_sums_by_bytes ON document_sums (collection, bytes);
  CREATE TABLE collection_sums (collection TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER document_came AFTER INSERT ON documents BEGIN
    INSERT INTO document_sums VALUES (NEW.collection, NEW.owner, 1, 0) ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER document_went AFTER DELETE ON documents BEGIN
    DELETE FROM document_bodies WHERE document = OLD.number;
    DELETE FROM document_versions WHERE document = OLD.number;
    UPDATE document_sums SET count = count - 1, bytes = bytes - OLD.bytes WHERE collection = OLD.collection AND owner = OLD.owner;
    DELETE FROM document_sums WHERE collection = OLD.collection AND owner = OLD.owner AND count = 0;
  END;
  CREATE TRIGGER bytes_came AFTER INSERT ON documents WHEN NEW.bytes > 0 BEGIN
    INSERT INTO document_sums VALUES (NEW.collection, NEW.owner, 0, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
    INSERT INTO collection_sums VALUES (NEW.collection, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER bytes_changed AFTER UPDATE OF bytes ON documents WHEN NEW.bytes <> OLD.bytes BEGIN
    UPDATE document_sums SET bytes = bytes + NEW.bytes - OLD.bytes WHERE collection = NEW.collection AND owner = NEW.owner;
    INSERT INTO collection_sums VALUES (NEW.collection, NEW.bytes - OLD.bytes)
      ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes - OLD.bytes;
  END;
  CREATE TRIGGER bytes_went AFTER DELETE ON documents WHEN OLD.bytes > 0 BEGIN
    UPDATE collection_sums SET bytes = bytes - OLD.bytes WHERE collection = OLD.collection;
  END;
`

const GOVERNANCE: DatabaseKind = {
  // The application id is "TRgv" in ASCII.
  applicationId: 0x54_52_67_76,
  schema: SCHEMA,
  version: 10,
  // With secure_delete, erased arguments and results are overwritten in the file.
  settings: 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;',
  // The bodies are not checked at the start, because they can have hundreds of megabytes. Damage in a body is found when it is
  // read.
  checkedTables: ['documents', 'document_versions', 'document_sums', 'collection_sums'],
}

/**
 * Opens the database for the documents of all features. A commit does not wait for the disk (WAL, synchronous NORMAL). If the
 * process is killed, nothing is lost. A power cut may lose the last commits.
 */
export function openGovernance(path: string): DatabaseSync {
  return openDatabaseFile(path, GOVERNANCE)
}
