import type { AdmittedDefinition } from '../../../catalog/definitions/admit-definition.ts'
import type { AdmittedModule } from '../../../catalog/definitions/admit-module.ts'
import { mainFile } from '../../../catalog/definitions/module-content.ts'
import { nearMiss } from '../../../catalog/schemas/near-miss.ts'
import { EXIT } from '../start-error.ts'
import { AuthorError } from './author-error.ts'

/**
 * The tool with this full name (`weather:get_report`) or short name (`get_report`). Without a name, the only tool of the module.
 * Throws an AuthorError, which lists the tools of the module, or says why the named tool was refused.
 */
export function toolNamed(module: AdmittedModule, wanted: string | undefined): AdmittedDefinition {
  const { name, tools, specs } = module
  const file = mainFile(name, module)
  const names = tools.map(({ definition }) => definition.function.name)
  if (wanted === undefined) {
    const [only] = tools
    if (only && specs.length === 1) return only
    throw new AuthorError(`Name the tool to call: ${file} has ${names.join(', ')}.`, EXIT.usage)
  }
  const full = new Set([wanted, `${name}:${wanted}`])
  const found = tools.find(({ definition }) => full.has(definition.function.name))
  if (found) return found
  const refused = specs.find(({ spec }) => spec.name !== null && full.has(spec.name))
  if (refused) {
    const messages = refused.faults.map(({ message }) => message)
    throw new AuthorError(`'${refused.spec.name}' was refused. ${messages.join(' ')}`)
  }
  const short = names.map((each) => each.slice(name.length + 1))
  const meant = nearMiss(wanted, wanted.includes(':') ? names : short)
  const hint = meant === undefined ? `It has ${names.join(', ')}.` : `Did you mean '${meant}'?`
  throw new AuthorError(`${file} has no tool '${wanted}'. ${hint}`, EXIT.usage)
}
