import type { Grant, Layer } from '@toolrack/contract'
import { parseArgs } from 'node:util'
import { harmless } from '../../log.ts'
import { askServer, runOperatorCommand } from './operator-command.ts'

/**
 * The program of `npm run grants -- list|show|accept|revoke [name] [--layer LAYER]`. It asks the embedded server that runs with
 * the data folder `TOOLRACK_DATA`, with the approver token of this folder. The exit code is 0 if everything was done, else 1.
 */
const { values, positionals } = parseArgs({ allowPositionals: true, options: { layer: { type: 'string' } } })
const [action = '', name = ''] = positionals

/** The grants of a module, as the server answers them. */
type Module = {
  readonly module: string
  readonly layer: Layer
  readonly grants: readonly Grant[]
  readonly grantsDigest: string
  readonly state: 'none' | 'pending' | 'accepted'
  readonly acceptedBy?: string | null
}

const STATES = {
  none: 'asks for nothing',
  pending: 'waits for consent',
  accepted: 'is accepted',
} as const

await runOperatorCommand(run)

async function run(): Promise<void> {
  if (action === 'list') return list()
  const layer = values.layer ?? (await layerOf(name, action === 'accept' ? 'pending' : undefined))
  const path = pathOf({ module: name, layer })
  const module = (await askServer('GET', path)) as Module
  console.log(lines(module))
  if (action === 'accept' && module.state === 'pending') {
    // Exactly what was printed is accepted. If the module changes at the same time, the server refuses.
    await askServer('POST', path, { digest: module.grantsDigest })
    console.log(`Accepted. The tools of ${module.module} can be called now.`)
  }
  if (action === 'revoke' && module.state === 'accepted') {
    await askServer('DELETE', path)
    console.log(
      `Revoked. The tools of ${module.module} cannot be called until somebody accepts the grants again.`,
    )
  }
}

async function list(): Promise<void> {
  const found = (await modules()).filter(({ layer }) => values.layer === undefined || layer === values.layer)
  for (const module of found) console.log(lines(await withConsent(module)))
  if (found.length === 0) console.log('No module asks for grants.')
}

/** The module with who has accepted its grants, which the list does not have. */
async function withConsent(module: Module): Promise<Module> {
  if (module.state !== 'accepted') return module
  const { grantsDigest, acceptedBy } = (await askServer('GET', pathOf(module))) as Module
  // Two watched folders can have a module of this name.
  return grantsDigest === module.grantsDigest ? { ...module, acceptedBy: acceptedBy ?? null } : module
}

function pathOf({ module, layer }: { readonly module: string; readonly layer: string }): string {
  return `/tools/modules/${encodeURIComponent(module)}/grants?layer=${encodeURIComponent(layer)}`
}

/** The layer in which the module with this name is. If it is in several, the one where it is in the wanted state. */
async function layerOf(wanted: string, state: Module['state'] | undefined): Promise<Layer> {
  const named = (await modules()).filter(({ module }) => module === wanted)
  const fitting = named.filter((module) => module.state === state)
  const found = [...new Set((fitting.length > 0 ? fitting : named).map(({ layer }) => layer))]
  const [first = 'user', ...others] = found
  if (others.length === 0) return first
  const layers = found.join(' and ')
  throw new Error(
    `${wanted} is in the layers ${layers}. Say which one is meant, with --layer. Nothing was changed.`,
  )
}

async function modules(): Promise<readonly Module[]> {
  return ((await askServer('GET', '/tools/grants')) as { readonly items: readonly Module[] }).items
}

/** The module, and a line for each grant. Values of grants come from the author of the module. */
function lines({ module, layer, grants, state, acceptedBy }: Module): string {
  const by = acceptedBy ? ` by ${acceptedBy}` : ''
  const rows = grants.map(({ kind, value }) => `  ${kind}  ${value}`)
  return [`${module}  (layer ${layer})  ${STATES[state]}${by}`, ...rows]
    .map((row) => harmless(row))
    .join('\n')
}
