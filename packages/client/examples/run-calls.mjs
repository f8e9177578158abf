// npm run example -- run-calls
import { ToolDispatcher } from '@toolrack/client'
import { connection } from './connection.mjs'

const dispatcher = new ToolDispatcher({
  ...connection,
  runners: [{ name: 'READ_FILE', run: ({ filepath }) => ({ filepath, text: 'what it holds' }) }],
})

// A possible answer of Anthropic's API. The calls of other vendors are dispatched in the same way.
const answer = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'toolu_1', name: 'READ_FILE', input: { filepath: 'README.md' } },
    { type: 'tool_use', id: 'toolu_2', name: 'ECHO', input: { text: 'from the service' } },
    { type: 'tool_use', id: 'toolu_3', name: 'NO_SUCH_TOOL', input: {} },
  ],
}

const { messages } = await dispatcher.dispatch(answer)
console.log(JSON.stringify(messages, null, 2))
