// Runners of two workflows: one is a function of this program, the other an endpoint.
import { invokerRunner, ToolDispatcher } from '@toolrack/client'

const createTask = invokerRunner({
  name: 'CREATE_TASK',
  workflow: async ({ arguments: { title } }) => ({ id: 'task-1', title }),
})
const postInvoice = invokerRunner({
  name: 'POST_INVOICE',
  workflow: {
    url: 'https://flows.example/post-invoice',
    headers: async () => ({ Authorization: 'Bearer …' }),
  },
})
const dispatcher = new ToolDispatcher({ runners: [createTask, postInvoice] })
console.log((await dispatcher.invoke('CREATE_TASK', { title: 'Write it down' })).textResultForLlm)
