import { parseConfig } from '../../functions/src/hosts/config.ts'
import { serve } from '../../functions/src/hosts/local/serve.ts'
import { textLog } from '../../functions/src/log.ts'
import { announce } from './announce.ts'

/** The service as `npm start` serves it. The environment sets its data folder. Only warnings and errors are logged. */
const log = { ...textLog(process.stderr), info: () => undefined }
const { url, token } = await serve(parseConfig(), log)
announce({ url, ...(token !== undefined && { token }) })
