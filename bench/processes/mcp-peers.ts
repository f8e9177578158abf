import { fileURLToPath } from 'node:url'
import { ARGUMENTS } from '../definitions/echo-tool.ts'
import { mcpClient, mcpSessionClient, type McpClient } from './mcp-client.ts'
import { startRunner } from './python-runner.ts'
import { withServers } from './server-process.ts'

const PYTHON_SERVER = fileURLToPath(new URL('../python/mcp_server.py', import.meta.url))
/** The session of `servers/mcp-tool.ts`. */
const SESSION = 'bench'

/** The arguments of the tool ECHO, which is built into Toolrack, and which the peer in TypeScript has too. */
export const TEXT = { text: 'Can you hear me?' }

/** The official MCP SDKs, each with one tool. */
export type McpPeers = { readonly python: McpClient; readonly typescript: McpClient }

/** Calls `work` with clients of both peers. Each peer answers in the faster of the ways that its SDK offers. */
export async function withMcpPeers<T>(python: string, work: (peers: McpPeers) => Promise<T>): Promise<T> {
  const started = await startRunner(python, [PYTHON_SERVER])
  try {
    return await withServers(async (start) => {
      const { url } = await start('mcp-tool.ts')
      const peers = {
        python: await mcpClient(portOf(started.address.RUNNER_URL), { name: 'echo', arguments: ARGUMENTS }),
        typescript: await mcpSessionClient(portOf(url), SESSION, { name: 'ECHO', arguments: TEXT }),
      }
      const result = await work(peers)
      for (const peer of Object.values(peers)) peer.close()
      return result
    })
  } finally {
    await started.stop()
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}
