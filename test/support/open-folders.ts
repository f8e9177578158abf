import { parseConfig } from '../../functions/src/hosts/config.ts'
import { openData } from '../../functions/src/hosts/local/open-data.ts'
import { StartError } from '../../functions/src/hosts/local/start-error.ts'

// Opens each data folder that an argument names, as the embedded server does. A test runs this program with other rights than its
// own. Prints, as JSON, the warnings of each folder, and the error with which a server would end.

function opened(folder: string) {
  const warnings: string[] = []
  const warn = (message: string, fields?: object): void =>
    void warnings.push(`${message} ${JSON.stringify(fields)}`)
  const log = { info: () => undefined, warn, error: warn }
  try {
    openData(parseConfig({ TOOLRACK_DATA: folder }), log)
    return { warnings }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return { warnings, exitCode: error.exitCode, message: error.message }
  }
}

console.log(JSON.stringify(process.argv.slice(2).map(opened)))
