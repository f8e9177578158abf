import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import type { Notice } from './found-settings.ts'
import { RALPH_VARIABLES } from './ralph.ts'

/**
 * Notices about variables that are probably mistyped. There are two kinds: unknown variables that begin with `TOOLRACK_`, and
 * variables whose names nearly equal those of Ralph's tools (another program). Other variables that begin with `RALPH_` are not
 * for this service.
 */
export function unknownVariables(variables: readonly string[], env: NodeJS.ProcessEnv): readonly Notice[] {
  const ours = unknown('TOOLRACK_', variables, env)
  const ofRalph = unknown('RALPH_', RALPH_VARIABLES, env)
  return [...ours, ...ofRalph.filter(({ fields }) => fields['similar'] !== undefined)]
}

function unknown(prefix: string, known: readonly string[], env: NodeJS.ProcessEnv): readonly Notice[] {
  const names = Object.keys(env).filter((name) => name.startsWith(prefix) && !known.includes(name))
  // The prefix is removed before names are compared. All names have it, so it would make them look more similar.
  const bare = new Map(known.map((name) => [name.replace(prefix, ''), name]))
  return names.map((name) => {
    const similar = bare.get(nearMiss(name.slice(prefix.length), bare.keys()) ?? '')
    const message = 'environment variable is not known and has no effect'
    return { message, fields: { name, ...(similar !== undefined && { similar }) } }
  })
}
