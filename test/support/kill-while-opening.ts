import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'

// Opens the data folder that the first argument names, as the embedded server does, and ends with `kill -9` before the operation on files
// whose number is the second argument. With a third argument, it copies the data folder before each operation into a folder there,
// whose name is the number of the operation: this is what a kill would leave. Prints the number of operations if it gets to the end.

const [, , folder = '', killedAt = '', copies] = process.argv
let operations = 0
let isWatching = false

type Act = (this: unknown, ...args: unknown[]) => unknown

function watched(act: Act): Act {
  return function (this: unknown, ...args) {
    if (isWatching) before(operations++)
    return act.apply(this, args)
  }
}

function before(operation: number): void {
  if (operation === Number(killedAt)) process.kill(process.pid, 'SIGKILL')
  if (copies === undefined) return
  isWatching = false
  fs.cpSync(folder, `${copies}/${operation}`, { recursive: true })
  isWatching = true
}

const FILE_OPERATIONS = ['mkdirSync', 'openSync', 'writeFileSync', 'writeSync', 'renameSync', 'fsyncSync']
for (const name of FILE_OPERATIONS) Object.assign(fs, { [name]: watched(Reflect.get(fs, name) as Act) })
syncBuiltinESMExports()
for (const name of ['exec', 'close'])
  Object.assign(DatabaseSync.prototype, { [name]: watched(Reflect.get(DatabaseSync.prototype, name) as Act) })

const { openedData } = await import('./opened-data.ts')
isWatching = true
const data = openedData(folder)
await data.close()
console.log(operations)
