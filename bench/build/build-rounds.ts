import type { Round } from '../measure/round.ts'
import { nextMessage, startNodeProcess } from '../processes/node-process.ts'

/** Times the building of lists, in a separate process. */
export async function buildRounds(count: number): Promise<readonly Round[]> {
  const child = startNodeProcess('build/build-process.ts', { args: [String(count)] })
  try {
    return await nextMessage<readonly Round[]>(child)
  } finally {
    if (child.connected) child.disconnect()
  }
}

export function buildNames(count: number) {
  const size = count.toLocaleString('en-US')
  return { ours: `Toolrack, 5 of ${size}`, peer: `merge, filter and stringify, 5 of ${size}` }
}
