import type { OwnedRules } from '@toolrack/contract'
import type { LayerRead } from '../../catalog/views/layer-source.ts'
import type { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { Hook, Signal } from '../../signal.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { FolderLayers } from '../folder/folder-layers.ts'
import type { SecretsFor } from '../secrets/load-secrets.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { RuleStore } from '../rules/rule-store.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { DeletedSession } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { approvalRoutes } from './approval-routes.ts'
import { awaitApproval, takeEditedArguments, type ApprovalStepParts } from './approval-steps.ts'
import { ApprovalStore } from './approval-store.ts'
import { Approvals, type Announce } from './approvals.ts'
import { checkEdited } from './check-edited.ts'
import { FileMarks } from './file-marks.ts'
import { showArguments } from './show-arguments.ts'

type Needs = {
  readonly documents: Documents
  readonly governance: { readonly sealing?: Sealing | undefined }
  readonly ruleStore: RuleStore
  /** Tells the operator about new approvals. */
  readonly webhook?: { readonly announce: Announce; close(): void } | undefined
  readonly operatorRules?: OwnedRules | undefined
  readonly folder: FolderLayers | undefined
  readonly listed: ListedCatalog
  readonly sessions: Sessions
  readonly sessionDeleted: Hook<DeletedSession>
  readonly ruleBook: RuleBook
  readonly argumentValidator: ArgumentValidator
  readonly log: Log
  readonly secretsFor: SecretsFor
  readonly now: () => number
  readonly signals: { readonly filesRead: Signal<LayerRead> }
}

/** The approvals of users, and the marks of tools and rules from files for which an approval was asked. */
export const approvals = {
  name: 'approvals',
  create(parts: Needs) {
    const { documents, governance, ruleStore, webhook, operatorRules, folder, log, now, signals } = parts
    const { sealing } = governance
    const fileMarks = new FileMarks({
      store: ruleStore,
      operator: operatorRules,
      isComplete: () => folder?.isComplete ?? true,
      log,
    })
    signals.filesRead.listen((read) => fileMarks.sees(read))
    const announce = webhook?.announce
    const approvals = new Approvals({ store: new ApprovalStore(documents), now, announce, sealing })
    parts.sessionDeleted.listen(({ uid, key }) => approvals.forgetSession(uid, key))
    const calls = { ...parts, catalog: parts.listed, validator: parts.argumentValidator, sealing }
    return { approvals, fileMarks, checkEdited: checkEdited(calls), showArguments: showArguments(calls) }
  },
  steps: (parts: ApprovalStepParts) => ({
    'take edited arguments': takeEditedArguments(parts),
    'await the approval': awaitApproval(parts),
  }),
  routes: approvalRoutes,
  async close({ webhook, fileMarks }: Pick<Needs, 'webhook'> & { readonly fileMarks: FileMarks }) {
    webhook?.close()
    await fileMarks.compare()
  },
}
