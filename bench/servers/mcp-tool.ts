import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'
import { announceApp } from './announce.ts'

/**
 * The official SDK with one tool, which gives back its text. All requests belong to one session, so no request makes a server of its
 * own. It answers JSON.
 */
const server = new McpServer({ name: 'peer', version: '1.0.0' })
const inputSchema = { text: z.string() }
server.registerTool('ECHO', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }))
const transport = new StreamableHTTPServerTransport({
  sessionIdGenerator: () => 'bench',
  enableJsonResponse: true,
})
await server.connect(transport)

const app = createMcpExpressApp()
app.post('/mcp', async (req, res) => {
  await transport.handleRequest(req, res, req.body)
})
announceApp(app)
