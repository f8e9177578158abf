import { SetupFailure } from './setup-failure.mjs'

/** There is no Python environment on this machine. What needs none goes on, and passes the sentence on. */
export class PythonMissing extends SetupFailure {
  name = 'PythonMissing'
}
