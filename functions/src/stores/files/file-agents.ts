import { isJsonObject, type JsonValue } from '@toolrack/contract'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  AGENT_ID_RULE,
  agentIdOf,
  isAgentId,
  isReservedId,
  type FixedAgent,
} from '../../features/agents/agent.ts'
import type { AgentFiles, AgentFilesRead } from '../../features/agents/agent-files.ts'
import { checkAgent } from '../../features/agents/check-agent.ts'
import type { SkippedItem } from '../../catalog/views/layer-source.ts'
import { readJson } from '../../json/read-json.ts'
import { lastingFault } from './find-files.ts'
import { readBytes } from './read-bytes.ts'

/** The most bytes of a file. Even the agent with the largest schema fits. */
const AGENT_FILE_BYTES_MAX = 64 * 1024
/** The most agents in files. A folder with more agents is probably the wrong folder. */
const AGENT_FILES_MAX = 500

/** For how many milliseconds a folder is not read again. */
const KEPT_MS = 1_000

/**
 * Reads the agents in the `*.json` files of one folder, in the order of the files' names. If the folder does not exist, there are
 * no agents. Never rejects. `skipped` has the files that cannot be read.
 */
export class FileAgents implements AgentFiles {
  readonly #folder: string
  #read: { readonly atMs: number; readonly agents: Promise<AgentFilesRead> } | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  read = (): Promise<AgentFilesRead> => {
    const nowMs = performance.now()
    if (!this.#read || nowMs - this.#read.atMs >= KEPT_MS)
      this.#read = { atMs: nowMs, agents: readFolder(this.#folder) }
    return this.#read.agents
  }
}

async function readFolder(folder: string): Promise<AgentFilesRead> {
  const agents = new Map<string, FixedAgent>()
  const skipped: SkippedItem[] = []
  const skip = (source: string, message: string, pointer = ''): void =>
    void skipped.push({ source, pointer, message })
  const { names, fault } = await namesIn(folder)
  if (fault !== undefined) skip('*.json', fault)
  if (names.length > AGENT_FILES_MAX)
    skip('*.json', `the folder has ${names.length} files; the first ${AGENT_FILES_MAX} are read`)
  for (const source of names.slice(0, AGENT_FILES_MAX)) {
    const read = readAgentFile(join(folder, source))
    if ('fault' in read) skip(source, read.fault.message, read.fault.pointer)
    else if (agents.has(read.agent.id)) skip(source, 'an earlier file has an agent with the same id')
    else agents.set(read.agent.id, read.agent)
  }
  return { agents, skipped }
}

async function namesIn(
  folder: string,
): Promise<{ readonly names: readonly string[]; readonly fault?: string }> {
  try {
    const names = await readdir(folder)
    return { names: names.filter((name) => /^[^.].*\.json$/.test(name)).toSorted() }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { names: [] }
    return { names: [], fault: lastingFault(error as NodeJS.ErrnoException) ?? `cannot be read: ${message}` }
  }
}

type AgentFile =
  { readonly agent: FixedAgent } | { readonly fault: { readonly pointer: string; readonly message: string } }

function readAgentFile(path: string): AgentFile {
  const read = readBytes(path, AGENT_FILE_BYTES_MAX, 'the file of an agent')
  if ('fault' in read) return wrong(read.fault)
  const json = readJson(read.bytes)
  return 'fault' in json ? json : agentOf(json.value)
}

function agentOf(value: JsonValue): AgentFile {
  if (!isJsonObject(value)) return wrong('is not an object; an agent is {"name": "…", "tools": [ … ]}')
  const checked = checkAgent(value)
  if ('fault' in checked) return checked
  const { name, description = null, workflowName = null, ...more } = checked.fields
  if (name === undefined) return wrong('has no name; an agent is {"name": "…", "tools": [ … ]}')
  const { id: sent } = value
  if (sent !== undefined && typeof sent !== 'string') return wrong('must be a text', '/id')
  const id = sent?.trim() || agentIdOf(name)
  if (!isAgentId(id)) return wrong(`the id, or the one that the name gives, ${AGENT_ID_RULE}`, '/id')
  if (isReservedId(id)) return wrong('the id is reserved: session, default, runs and tools', '/id')
  return { agent: { id, name, description, workflowName, ...more, source: 'file' } }
}

function wrong(message: string, pointer = ''): AgentFile {
  return { fault: { pointer, message } }
}
