import { jsonPointer, type JsonObject, type JsonValue } from '@toolrack/contract'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { aType, TEXT_OF } from './file-types.ts'
import { NOTHING, type Found, type Notice } from './found-settings.ts'
import { isObject, readSettings, readSettingsFile, type JsonSettings } from './json-settings.ts'
import type { Setting, Table } from '../../settings/variables.ts'

/** What a key in the file of Ralph's tools means for this service: one of its variables, or nothing, with the reason. */
type Meaning = { readonly variable: string } | { readonly why: string }
type Section = { readonly [key: string]: Meaning }

const NO_FILE_TOOLS = { why: 'there are no tools for files yet, so nothing checks this' }
const NO_SHELL = { why: 'there is no tool for commands yet, so nothing checks this' }
const NO_WEB_TOOLS = { why: 'there are no tools for the web yet, so nothing checks this' }
const HOSTS_OF_MODULES = {
  why: 'each module names the hosts that its tools may reach; TOOLRACK_RUNNER_NETWORK_ALLOW adds private networks, and takes no host away',
}
const CALL_LIMITS: Section = {
  timeout_seconds: { variable: 'TOOLRACK_CALL_TIMEOUT_SECONDS' },
  memory_limit_mb: { variable: 'TOOLRACK_CALL_MEMORY_MB' },
  calls_per_minute: { variable: 'TOOLRACK_USER_CALLS_PER_MINUTE' },
  concurrent_calls: { variable: 'TOOLRACK_USER_CALLS_AT_ONCE' },
}

/** The keys in the configuration file of Ralph's tools, another program whose settings this service also accepts. */
const TOOL_CONFIG: { readonly [section: string]: Section } = {
  file_operations: {
    max_file_size_mb: NO_FILE_TOOLS,
    allowed_extensions: NO_FILE_TOOLS,
    forbidden_paths: NO_FILE_TOOLS,
  },
  code_execution: { ...CALL_LIMITS, allowed_commands: NO_SHELL },
  web_requests: {
    timeout_seconds: NO_WEB_TOOLS,
    max_response_size_mb: NO_WEB_TOOLS,
    allowed_domains: HOSTS_OF_MODULES,
  },
}

/** The keys of the variable RALPH_RESOURCE_LIMITS. */
const RESOURCE_LIMITS: Section = {
  ...CALL_LIMITS,
  max_file_size_mb: NO_FILE_TOOLS,
  max_response_size_mb: NO_WEB_TOOLS,
}

/** The isolation level that a strict sandbox stands for: the highest level that the runner can reach. */
const STRICT = 'L3'
const STRICT_TEXTS = new Set(['strict', 'true', '1', 'on', 'yes'])
const LAX_TEXTS = new Set(['false', '0', 'off', 'no', 'none', 'relaxed', 'permissive'])

export const RALPH_VARIABLES: readonly string[] = [
  'RALPH_TOOLS_CONFIG',
  'RALPH_RESOURCE_LIMITS',
  'RALPH_SANDBOX_MODE',
  'RALPH_AUDIT_LOG_PATH',
]

/** Reads the variables of Ralph's tools. If several of them set the same value, the last variable of this list counts. */
export function readRalph(table: Table, env: NodeJS.ProcessEnv): Found {
  const {
    RALPH_TOOLS_CONFIG: path,
    RALPH_RESOURCE_LIMITS: limits,
    RALPH_SANDBOX_MODE: mode,
    RALPH_AUDIT_LOG_PATH: auditLog,
  } = env
  const reader = new RalphReader(table)
  if (path) {
    const file = readSettingsFile('RALPH_TOOLS_CONFIG', path)
    if ('fault' in file) reader.faults.push(file.fault)
    else reader.readToolConfig(file)
  }
  if (limits) {
    const json = readSettings('RALPH_RESOURCE_LIMITS', Buffer.from(limits))
    if ('fault' in json) reader.faults.push(json.fault)
    else reader.readSection(json, json.value, [], RESOURCE_LIMITS)
  }
  if (mode) reader.readMode(mode.toLowerCase())
  if (auditLog) reader.take({ variable: 'TOOLRACK_AUDIT_LOG_PATH' }, 'RALPH_AUDIT_LOG_PATH', auditLog)
  return path || limits || mode || auditLog ? reader : NOTHING
}

class RalphReader implements Found {
  readonly settings: Setting[] = []
  readonly faults: string[] = []
  readonly notices: Notice[] = []
  readonly #table: Table

  constructor(table: Table) {
    this.#table = table
  }

  readToolConfig(json: JsonSettings): void {
    for (const [name, value] of Object.entries(json.value)) {
      const section = Object.hasOwn(TOOL_CONFIG, name) ? TOOL_CONFIG[name] : undefined
      const place = json.place(jsonPointer([name]))
      if (!section) this.#unknown(name, place, Object.keys(TOOL_CONFIG))
      else if (!isObject(value)) this.faults.push(`${place} must be an object`)
      else this.readSection(json, value, [name], section)
    }
  }

  readSection(json: JsonSettings, values: JsonObject, path: readonly string[], section: Section): void {
    for (const [key, value] of Object.entries(values)) {
      const meaning = Object.hasOwn(section, key) ? section[key] : undefined
      const place = json.place(jsonPointer([...path, key]))
      if (meaning) this.take(meaning, place, value)
      else this.#unknown(key, place, Object.keys(section))
    }
  }

  readMode(mode: string): void {
    const at = 'RALPH_SANDBOX_MODE'
    if (STRICT_TEXTS.has(mode)) this.take({ variable: 'TOOLRACK_RUNNER_MIN_ISOLATION' }, at, STRICT)
    else if (LAX_TEXTS.has(mode))
      this.#withoutEffect(
        at,
        'the sandbox cannot be switched off; TOOLRACK_RUNNER_MIN_ISOLATION sets its level',
      )
    else this.faults.push(`${at} must be strict or off`)
  }

  take(meaning: Meaning, place: string, value: JsonValue): void {
    if ('why' in meaning) return this.#withoutEffect(place, meaning.why)
    const { variable: name } = meaning
    const read = this.#table[name]
    if (!read) return this.#withoutEffect(place, `this version has no ${name}`)
    const text = TEXT_OF[read.fileType ?? 'text'](value, '.')
    if (text === undefined) this.faults.push(`${place} must be ${aType(read.fileType)}`)
    else this.settings.push({ name, text, from: place, place })
  }

  /**
   * Reports an unknown key. The file may have keys of other programs. So only a key that is nearly equal to a known key is a
   * fault, because it is probably mistyped.
   */
  #unknown(key: string, place: string, known: readonly string[]): void {
    const near = nearMiss(key, known)
    if (near === undefined) this.#withoutEffect(place, 'it is not known')
    else this.faults.push(`${place} is not known: did you mean ${near}?`)
  }

  #withoutEffect(at: string, reason: string): void {
    this.notices.push({ message: 'setting has no effect', fields: { at, reason } })
  }
}
