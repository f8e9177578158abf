import type { PlannedText, TextScope, RuleStore } from '../../features/rules/rule-store.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { restData } from './rest-data.ts'

const TEXT = 'text'

/** Rule sets in the document `tools/rules`, or `users/{uid}/tools/rules`, and marks in `tools/marks`. They are read by REST where layers are. */
export class FirestoreRuleStore implements RuleStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
  }

  open = async (): Promise<void> => {
    if (!this.#connection.rest) await this.#connection.client().catch(() => undefined)
  }

  read = async (scope: TextScope): Promise<string | undefined> => {
    const { calls } = this.#connection
    try {
      return await calls.within(STORE_DEADLINES.readMs, (signal) => this.#read(scope, signal))
    } catch (error) {
      throw firestoreError(error)
    }
  }

  change = <Result>(
    scope: TextScope,
    plan: (text: string | undefined) => PlannedText<Result>,
  ): Promise<Result> =>
    this.#changes.change(
      STORE_DEADLINES.writeMs,
      () => this.#document(scope),
      async (transaction, document, mark) => {
        const before = textIn((await transaction.get(document)).data())
        const { text, result } = plan(before)
        if (text === undefined) transaction.delete(document)
        else if (text !== before) transaction.set(document, { [TEXT]: text, ...mark })
        return result
      },
    )

  async #read(scope: TextScope, signal: AbortSignal): Promise<string | undefined> {
    const { rest } = this.#connection
    if (!rest) return textIn((await (await this.#document(scope)).get()).data())
    const [element] = await rest.ask({
      at: [],
      method: 'batchGet',
      body: { documents: [rest.name(segmentsOf(scope))] },
      read: (one) => [one],
      signal,
    })
    if (element?.readTime === undefined) throw new Error('Firestore sent no time of the read')
    return element.found && textIn(restData(element.found.fields))
  }

  async #document(scope: TextScope) {
    // The path is built segment by segment, so that no uid can change which document it names.
    const firestore = await this.#connection.client()
    const owner = scope.kind === 'user' ? firestore.collection('users').doc(scope.uid) : firestore
    return owner.collection('tools').doc(documentOf(scope))
  }
}

function segmentsOf(scope: TextScope): readonly string[] {
  return [...(scope.kind === 'user' ? ['users', scope.uid] : []), 'tools', documentOf(scope)]
}

function documentOf({ kind }: TextScope): string {
  return kind === 'marks' ? 'marks' : 'rules'
}

/** The text of a document. A document without one is refused, because calls must not go on without its rules. */
function textIn(data: Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (!data) return undefined
  const text = data[TEXT]
  if (typeof text !== 'string') throw new Error('the document of rules has no text')
  return text
}
