// npm run example -- list-tools READ_FILE,ECHO
import { ToolDefs } from '@toolrack/client'
import { connection } from './connection.mjs'

const defs = new ToolDefs(connection)
const { tools, source, reason, unknown } = await defs.list({ names: process.argv[2] })

for (const tool of tools) console.log(`${tool.function.name}: ${tool.function.description}`)
console.log(`${tools.length} tools, from: ${source}${reason ? ` (${reason.message})` : ''}`)
if (unknown.length > 0) console.log(`no tool is named ${unknown.join(', ')}`)
