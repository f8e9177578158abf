import type { DatabaseSync } from 'node:sqlite'
import { openDatabaseFile, type DatabaseKind } from './database-file.ts'

/** The rule sets of everybody (the scope is empty) or of one user and that user's workflows, as one JSON text. */
const RULES = `
  CREATE TABLE rules (
    scope TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/**
 * The calls with an idempotency key, and the results of those that have ended. `number` gives the order, even if the clock was
 * set back. The triggers keep the sums of each user and of all users.
 */
const CALL_KEYS = `
  CREATE TABLE call_keys (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    owner TEXT NOT NULL,
    has_ended INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL,
    kept_until INTEGER NOT NULL,
    UNIQUE (uid, id)
  ) STRICT;
  CREATE INDEX call_keys_by_end ON call_keys (kept_until);
  CREATE TABLE call_results (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    call INTEGER NOT NULL UNIQUE,
    uid TEXT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT,
    text TEXT NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX call_results_by_user ON call_results (uid, number);
  CREATE TABLE call_key_sums (
    uid TEXT PRIMARY KEY,
    keys INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX call_key_sums_by_bytes ON call_key_sums (bytes);
  CREATE TABLE call_results_sum (bytes INTEGER NOT NULL) STRICT;
  INSERT INTO call_results_sum VALUES (0);
  CREATE TRIGGER call_key_came AFTER INSERT ON call_keys BEGIN
    INSERT INTO call_key_sums VALUES (NEW.uid, 1, 0) ON CONFLICT DO UPDATE SET keys = keys + 1;
  END;
  CREATE TRIGGER call_key_went AFTER DELETE ON call_keys BEGIN
    DELETE FROM call_results WHERE call = OLD.number;
    UPDATE call_key_sums SET keys = keys - 1 WHERE uid = OLD.uid;
    DELETE FROM call_key_sums WHERE uid = OLD.uid AND keys = 0;
  END;
  CREATE TRIGGER call_result_came AFTER INSERT ON call_results BEGIN
    UPDATE call_key_sums SET bytes = bytes + NEW.bytes WHERE uid = NEW.uid;
    UPDATE call_results_sum SET bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER call_result_went AFTER DELETE ON call_results BEGIN
    UPDATE call_key_sums SET bytes = bytes - OLD.bytes WHERE uid = OLD.uid;
    UPDATE call_results_sum SET bytes = bytes - OLD.bytes;
  END;
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

/** The agents of each user as JSON, and the agent of each session. A session without a project has an empty one. */
const AGENTS = `
  CREATE TABLE agents (
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    created INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (uid, id)
  ) STRICT;
  CREATE INDEX agents_by_creation ON agents (uid, created, id);
  CREATE TABLE agent_links (
    uid TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY (uid, project, session)
  ) STRICT, WITHOUT ROWID;
`

/** The sessions of each user. `tools` is apart from `head`, because it can be large and pages do not show it. */
const SESSIONS = `
  CREATE TABLE sessions (
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    head TEXT NOT NULL,
    tools TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    erase_at INTEGER NOT NULL,
    PRIMARY KEY (uid, id)
  ) STRICT;
  CREATE INDEX sessions_by_end ON sessions (erase_at);
  CREATE TABLE session_sums (
    uid TEXT PRIMARY KEY,
    sessions INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER session_came AFTER INSERT ON sessions BEGIN
    INSERT INTO session_sums VALUES (NEW.uid, 1, NEW.bytes)
      ON CONFLICT DO UPDATE SET sessions = sessions + 1, bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER session_changed AFTER UPDATE OF bytes ON sessions BEGIN
    UPDATE session_sums SET bytes = bytes + NEW.bytes - OLD.bytes WHERE uid = NEW.uid;
  END;
  CREATE TRIGGER session_went AFTER DELETE ON sessions BEGIN
    UPDATE session_sums SET sessions = sessions - 1, bytes = bytes - OLD.bytes WHERE uid = OLD.uid;
    DELETE FROM session_sums WHERE uid = OLD.uid AND sessions = 0;
  END;
`

/** The scope of each owner with its versions, as one JSON text. `bytes` is the length of the text in UTF-8. */
const SCOPES = `
  CREATE TABLE scopes (
    uid TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (uid, kind, id)
  ) STRICT;
  CREATE INDEX scopes_by_user ON scopes (uid, bytes);
`

/** The use of each user's tools, for the newest day for which it was counted. */
const TOOL_USAGE = `
  CREATE TABLE tool_usage (
    uid TEXT PRIMARY KEY,
    day TEXT NOT NULL,
    text TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** The time at which the arguments of an approval are erased. Older rows get the time that new ones have, 24.5 hours. */
const ARGUMENTS_END = `
  ALTER TABLE approval_arguments ADD COLUMN erase_at INTEGER NOT NULL DEFAULT 0;
  UPDATE approval_arguments SET erase_at = (unixepoch() * 1000) + 88200000;
  CREATE INDEX approval_arguments_by_end ON approval_arguments (erase_at);
`

/** Finds the links of one session in all projects. */
const LINKS_BY_SESSION = `
  CREATE INDEX IF NOT EXISTS agent_links_by_session ON agent_links (uid, session);
`

const GOVERNANCE: DatabaseKind = {
  // "TRgv"
  applicationId: 0x54_52_67_76,
  steps: [RULES, CALL_KEYS, APPROVALS, AGENTS, SESSIONS, SCOPES, TOOL_USAGE, ARGUMENTS_END, LINKS_BY_SESSION],
  // Arguments and results that are erased are overwritten in the file.
  settings: 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;',
  // Without the results and arguments, which can be hundreds of megabytes. Damage in them shows when they are read.
  checkedTables: ['rules', 'call_keys', 'approvals', 'agents', 'agent_links', 'sessions', 'scopes'],
}

/**
 * Opens the database of what governs calls. A commit does not wait for the disk (WAL, synchronous NORMAL): a killed process loses
 * nothing, but a power cut may lose the last moments.
 */
export function openGovernance(path: string): DatabaseSync {
  return openDatabaseFile(path, GOVERNANCE)
}
