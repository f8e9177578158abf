import { ENVELOPES, ITEM_NAMES } from '../../catalog/views/list-query.ts'
import { choice, matching, text } from '../../settings/variables.ts'

/** The variables that set the form of a list whose request does not choose it. */
export const LIST_SETTINGS = {
  LIST_ENVELOPE: choice(ENVELOPES, 'array'),
  LIST_ITEM_NAMES: choice(ITEM_NAMES, 'canonical'),
  TOOLRACK_DEFAULT_WORKFLOW: text('tools-CliTools', 256),
  TOOLRACK_INVOKE_WORKFLOW: matching(/^.{1,256}$/s, 'must have at most 256 characters'),
}
