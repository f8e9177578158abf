import assert from 'node:assert/strict'
import { keepAliveClient } from './keep-alive-client.ts'

export type McpClient = { readonly call: () => Promise<void>; readonly close: () => void }

type McpCall = { readonly name: string; readonly arguments: unknown; readonly _meta?: unknown }

const ACCEPT = { Accept: 'application/json, text/event-stream' }
const CLIENT = { name: 'bench', version: '1.0.0' }
/** The protocol whose requests need no session, and the last protocol with sessions. */
const [WITHOUT_SESSION, WITH_SESSION] = ['2026-07-28', '2025-11-25']

/** Calls one tool of an MCP server, which keeps no session. */
export async function mcpClient(port: number, call: McpCall): Promise<McpClient> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': WITHOUT_SESSION,
    'io.modelcontextprotocol/clientInfo': CLIENT,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = {
    ...ACCEPT,
    'MCP-Protocol-Version': WITHOUT_SESSION,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': call.name,
  }
  return toolCaller(port, { ...call, _meta: meta }, headers)
}

/** Calls one tool of an MCP server, after it has begun the session `session`. */
export async function mcpSessionClient(port: number, session: string, call: McpCall): Promise<McpClient> {
  const first = await keepAliveClient(port)
  const params = { protocolVersion: WITH_SESSION, capabilities: {}, clientInfo: CLIENT }
  await first.send('POST', '/mcp', { jsonrpc: '2.0', id: 0, method: 'initialize', params }, ACCEPT)
  first.close()
  const headers = { ...ACCEPT, 'MCP-Protocol-Version': WITH_SESSION, 'Mcp-Session-Id': session }
  return toolCaller(port, call, headers)
}

async function toolCaller(
  port: number,
  params: McpCall,
  headers: Readonly<Record<string, string>>,
): Promise<McpClient> {
  let client = await keepAliveClient(port)
  let id = 0
  return {
    async call() {
      if (!client.isOpen()) client = await keepAliveClient(port)
      const body = { jsonrpc: '2.0', id: (id += 1), method: 'tools/call', params }
      const answer = (await client.send('POST', '/mcp', body, headers)) as { result?: { isError?: boolean } }
      // A failure would be measured as a quick answer.
      assert.ok(answer.result && answer.result.isError !== true, JSON.stringify(answer))
    },
    close: () => client.close(),
  }
}
