import type { Log } from '../../log.ts'
import { Hook, type Signal } from '../../signal.ts'
import { sessionRoutes } from './session-routes.ts'
import type { DeletedSession } from './session.ts'
import type { SessionStore } from './session-store.ts'
import { SessionWriter } from './session-writer.ts'
import { Sessions } from './sessions.ts'

type Needs = {
  readonly governance: { readonly sessions: SessionStore }
  readonly log: Log
  readonly now: () => number
  readonly signals: { readonly written: Signal }
}

/** Sessions: which tools each conversation may use. */
export const sessions = {
  name: 'sessions',
  create({ governance, log, now, signals }: Needs) {
    const sessionStore = governance.sessions
    const sessions = new Sessions({ store: sessionStore, log, now })
    const changed = signals.written.tell
    const sessionWriter = new SessionWriter({ store: sessionStore, sessions, now, changed })
    return { sessions, sessionStore, sessionWriter, sessionDeleted: new Hook<DeletedSession>() }
  },
  routes: sessionRoutes,
}
