import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { answerQuestions } from '../../../functions/src/catalog/schemas/answer-questions.ts'

/** Answers as the schema worker does, and obeys the command in the title of a schema. So a test decides how it fails. */
const report = { faults: [], unenforced: [] as readonly string[] }

answerQuestions((text: string) => {
  const { title = '' } = JSON.parse(text) as { title?: string }
  const [command, path = ''] = title.split(' ')
  if (command === 'hang') for (;;);
  if (command === 'mark-and-hang') {
    writeFileSync(path, '')
    for (;;);
  }
  if (command === 'mark-and-await') {
    writeFileSync(path, '')
    while (!existsSync(`${path}.go`));
  }
  if (command === 'exit') process.exit(1)
  if (command === 'throw') throw new Error('the worker threw')
  if (command === 'count') appendFileSync(path, '.')
  if (command === 'count-and-fill') {
    appendFileSync(path, '.')
    fillTheHeap()
  }
  if (command === 'fill') fillTheHeap()
  if (command === 'count-and-die') {
    appendFileSync(path, '.')
    process.kill(process.pid, 'SIGKILL')
  }
  if (command === 'die-once' && !existsSync(path)) {
    writeFileSync(path, '')
    process.kill(process.pid, 'SIGKILL')
  }
  if (command === 'await') while (!existsSync(path));
  if (command === 'mark') setImmediate(() => writeFileSync(path, ''))
  if (command === 'answer-and-throw')
    setImmediate(() => {
      throw new Error('the worker threw after its answer')
    })
  if (command === 'environment') return { ...report, unenforced: Object.keys(process.env) }
  return { ...report, unenforced: command === 'pid' ? [String(process.pid)] : [] }
})

function fillTheHeap(): never {
  const kept: unknown[] = []
  for (;;) kept.push({ kept: kept.length })
}
