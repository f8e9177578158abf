import { existsSync, writeFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

/** Speaks the schema worker's protocol and does what the title of a schema says, so that a test decides how it fails. */
const report = { faults: [], unenforced: [] }

parentPort?.on('message', (text: string) => {
  const { title = '' } = JSON.parse(text) as { title?: string }
  const [command, path = ''] = title.split(' ')
  if (command === 'hang') for (;;);
  if (command === 'exit') process.exit(1)
  if (command === 'throw') throw new Error('the worker threw')
  if (command === 'await') while (!existsSync(path));
  if (command === 'environment') parentPort?.postMessage({ ...report, unenforced: Object.keys(process.env) })
  else parentPort?.postMessage(report)
  if (command === 'mark') writeFileSync(path, '')
  if (command === 'answer-and-throw') throw new Error('the worker threw after its answer')
})
parentPort?.postMessage('ready')
