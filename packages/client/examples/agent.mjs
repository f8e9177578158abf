// npm run example -- agent
// MODEL_URL, MODEL_NAME and MODEL_KEY choose a real model. Without MODEL_URL a stand-in always asks for the time.
import { runTools, ToolDefs, ToolDispatcher } from '@toolrack/client'
import { connection } from './connection.mjs'

const { MODEL_URL, MODEL_NAME = 'stand-in', MODEL_KEY } = process.env
const defs = new ToolDefs(connection)

const { text, steps, end } = await runTools({
  model: {
    url: MODEL_URL ?? 'http://model.invalid/v1/chat/completions',
    name: MODEL_NAME,
    apiKey: MODEL_KEY,
    fetch: MODEL_URL ? undefined : standIn,
  },
  messages: [{ role: 'user', content: 'What time is it?' }],
  tools: () => defs.list({ names: 'GET_TIME', dialect: 'openai' }),
  dispatcher: new ToolDispatcher(connection),
  stepsMax: 4,
})
console.log(`${text} (${end} after ${steps} steps)`)

async function standIn(_url, { body }) {
  const { messages } = JSON.parse(body)
  const last = messages.at(-1)
  const call = { id: 'call_1', type: 'function', function: { name: 'GET_TIME', arguments: '{}' } }
  const message =
    last.role === 'tool'
      ? { role: 'assistant', content: `The service says: ${last.content}` }
      : { role: 'assistant', content: null, tool_calls: [call] }
  return Response.json({ choices: [{ index: 0, message }] })
}
