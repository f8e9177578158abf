import type { Log } from '../../log.ts'
import { LoopWatch } from '../../loop-watch.ts'
import { frontPageRoute } from './front-page.ts'
import { healthRoute } from './health-route.ts'

/** Says whether the service works, to people and to programs. */
export const health = {
  name: 'health',
  create: (parts: { readonly log: Log; readonly now: () => number }) => ({ loopWatch: new LoopWatch(parts) }),
  routes: (parts: Parameters<typeof healthRoute>[0]) => [healthRoute(parts), frontPageRoute(parts)],
  close: ({ loopWatch }: { readonly loopWatch: LoopWatch }) => loopWatch.close(),
}
