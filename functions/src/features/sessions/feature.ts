import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { Hook, type Signal } from '../../signal.ts'
import { sessionRoutes } from './session-routes.ts'
import type { DeletedSession } from './session.ts'
import { SessionStore } from './session-store.ts'
import { SessionWriter } from './session-writer.ts'
import { Sessions } from './sessions.ts'

type Needs = {
  readonly documents: Documents
  readonly log: Log
  readonly now: () => number
  readonly signals: { readonly written: Signal }
}

/** Sessions, which say which tools each conversation may use. */
export const sessions = {
  name: 'sessions',
  create({ documents, log, now, signals }: Needs) {
    const sessionStore = new SessionStore(documents)
    const sessions = new Sessions({ store: sessionStore, log, now })
    const changed = signals.written.tell
    const sessionWriter = new SessionWriter({ store: sessionStore, sessions, now, changed })
    return { sessions, sessionStore, sessionWriter, sessionDeleted: new Hook<DeletedSession>() }
  },
  routes: sessionRoutes,
}
