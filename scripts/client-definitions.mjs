import { writeFileSync } from 'node:fs'
import { standardDefinitionsPath, standardDefinitionsText } from './toolchain/standard-definitions.mjs'

/** `npm run client-definitions`: writes the local definitions of the client. Run it after a change of the definition files. */
writeFileSync(standardDefinitionsPath, standardDefinitionsText())
