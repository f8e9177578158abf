import type { Runner } from '../../functions/src/catalog/definitions/runner.ts'
import { lockOf } from './module-changes.ts'
import { checkedModule, readingRunner, textIn } from './reading-runner.ts'

/**
 * A runner that reads what a module asks for from comments: `# network a.example.com` gives all tools this host, `# secrets KEY`
 * this secret, and `# packages pandas>=2` gives the module this package.
 */
export function askingRunner(): Runner {
  return {
    ...readingRunner(),
    check(module) {
      const source = textIn(module)
      const asked = (kind: string): string[] =>
        source
          .split('\n')
          .flatMap((line) => (line.startsWith(`# ${kind} `) ? [line.slice(kind.length + 3)] : []))
      const checked = checkedModule(source)
      const [network, secrets, packages] = [asked('network'), asked('secrets'), asked('packages')]
      const tools = checked.tools.map((spec) => (spec.accepted ? { ...spec, network, secrets } : spec))
      return Promise.resolve({
        ...checked,
        tools,
        ...(packages.length > 0 && { packages: lockOf('1.0', packages) }),
      })
    },
  }
}

/** The source of a module with these functions, which asks for these grants: `network a.example.com`. */
export function askingModule(
  name: string,
  asks: readonly string[],
  functions: readonly string[] = ['it'],
): string {
  const specs = functions.map((each) => `"${name}:${each}"`).join(', ')
  return [...asks.map((ask) => `# ${ask}`), `TOOL_SPECS = [${specs}]`, ''].join('\n')
}
