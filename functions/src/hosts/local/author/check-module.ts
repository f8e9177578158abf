import { isToolrackError, ToolrackError } from '@toolrack/contract'
import { admitModule, type AdmittedModule } from '../../../catalog/definitions/admit-module.ts'
import type { CheckReport } from '../../../catalog/definitions/check-report.ts'
import { mainFile } from '../../../catalog/definitions/module-content.ts'
import type { ModuleSource, Runner } from '../../../catalog/definitions/runner.ts'
import type { AuthorSession } from './author-session.ts'

/**
 * The result of a check: the module, or the error that an upload of the module would have. `file` is the name of the module's
 * main file. `report` is the report of the runner, if the runner was asked.
 */
export type Checked = { readonly file: string; readonly report?: CheckReport | undefined } & (
  { readonly module: AdmittedModule } | { readonly error: ToolrackError }
)

/** The user id for every check and call of these commands. The local token has the same user. */
export const AUTHOR = 'local'

/**
 * Checks and admits a module in the same way as an upload. While the packages of the module are resolved and installed, `onProgress` gets
 * a sentence at least once a second.
 */
export async function checkModule(
  session: Pick<AuthorSession, 'runner' | 'compilers'>,
  source: ModuleSource,
  onProgress?: (text: string) => void,
): Promise<Checked> {
  const file = mainFile(source.name, source)
  let report: CheckReport | undefined
  const check: Runner['check'] = async (module) =>
    (report = await session.runner.check({ ...module, onProgress }))
  const parts = { runner: { check }, compiler: session.compilers.own }
  try {
    const module = await admitModule({ ...source, tenant: AUTHOR }, parts)
    return { file, report, module }
  } catch (error) {
    if (!isToolrackError(error)) throw error
    return { file, report, error: await forAuthor(error, session.runner) }
  }
}

/**
 * Replaces the message of RUNNER_UNAVAILABLE. That message is for a user of a server, but an author must know which program is
 * missing on this machine.
 */
async function forAuthor(error: ToolrackError, runner: Runner): Promise<ToolrackError> {
  if (error.code !== 'RUNNER_UNAVAILABLE') return error
  const health = await runner.health()
  return health.status === 'ready' ? error : new ToolrackError(error.code, health.reason)
}
