import { readingsOfTool, shownKinds, type OwnedRules } from '@toolrack/contract'
import type { Log } from '../../log.ts'
import { Turns } from '../../loop-turn.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { ruledTool } from '../../catalog/views/ruled-tool.ts'
import { SCHEMAS_READ_MAX, targetsOf } from './rule-targets.ts'

/** The most arguments that one line of the log names. The others are only counted, so that people can read the line. */
const TOLD_MAX = 20

/**
 * Returns a function that warns the operator about arguments in the rules of the operator's file whose kind is `other`, once
 * about each. No `allow` ever matches such an argument. A `deny` compares the value that the caller sends, even if the tool reads
 * it differently.
 */
export function operatorRulesReport(owned: OwnedRules | undefined, log: Log) {
  const told = new Set<string>()
  return async (view: CatalogView, turns: Turns = new Turns()): Promise<void> => {
    if (!owned?.set.rules.some(({ args }) => args)) return
    const { byRule } = await targetsOf(owned.set, view, turns)
    const found = new Set<string>()
    for (const [at, { args = {} }] of owned.set.rules.entries())
      for (const entry of byRule[at]?.tools.slice(0, SCHEMAS_READ_MAX) ?? []) {
        if (turns.isDue) await turns.give()
        const readings = readingsOfTool(ruledTool(entry))
        for (const name of Object.keys(args))
          if (readings.declares(name) && shownKinds(readings.of(name)).includes('other'))
            found.add(`${entry.name} ${name}`)
      }
    const fresh = [...found].filter((argument) => !told.has(argument))
    if (fresh.length === 0) return
    for (const argument of fresh) told.add(argument)
    log.warn('rules of TOOLRACK_RULES_FILE name arguments of the kind other, which no allow matches', {
      arguments: fresh.slice(0, TOLD_MAX),
      ...(fresh.length > TOLD_MAX && { more: fresh.length - TOLD_MAX }),
    })
  }
}
