import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { ListToolsRequestSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { readFileSync } from 'node:fs'
import { announceApp } from './announce.ts'

/** The official SDK with the tools of a file. It is stateless: each request has its own server and transport. It answers JSON. */
const [, , path, file] = process.argv
const { tools } = ListToolsResultSchema.parse({ tools: JSON.parse(readFileSync(file ?? '', 'utf8')) })

const app = createMcpExpressApp()
app.post(path ?? '/', async (req, res) => {
  const server = new Server({ name: 'peer', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  res.on('close', () => {
    void transport.close()
    void server.close()
  })
  await server.connect(transport)
  await transport.handleRequest(req, res, req.body)
})
announceApp(app)
