import { DENIED, type RouteCases } from '../../../support/route-cases.ts'

/** An id that can be one of an artifact. Nobody has it: the tests of the feature ask for artifacts of others. */
const ID = '019b7d2a-0000-7000-8000-000000000000'
const NONE = '404 ARTIFACT_NOT_FOUND'

export const ROUTE_CASES: RouteCases = {
  hers: () => [],
  readAt: '/artifacts',
  routes: {
    'POST /artifacts': {
      access: [['', '', 'a text', ['201', '201', '201', '201', DENIED]]],
      ofOthers: [['/artifacts', 'a text']],
    },
    'GET /artifacts': {
      access: [['', '', null, ['200', '200', '200', '200', '200']]],
      ofOthers: [['/artifacts']],
    },
    'GET /artifacts/:id': {
      access: [[ID, '', null, [NONE, NONE, NONE, NONE, NONE]]],
      ofOthers: [[`/artifacts/${ID}`]],
    },
    'DELETE /artifacts/:id': {
      access: [[ID, '', null, [NONE, NONE, NONE, NONE, DENIED]]],
      ofOthers: [[`/artifacts/${ID}`]],
    },
    'GET /artifacts/linked/:sealed': {
      access: [['s1.none', '', null, [NONE, NONE, NONE, NONE, NONE]]],
      ofOthers: [],
    },
    'GET /workflows/artifacts/linked/:sealed': {
      access: [['s1.none', '', null, [NONE, NONE, NONE, NONE, NONE]]],
      ofOthers: [],
    },
    'POST /artifacts/:id/link': {
      access: [[ID, '', null, [NONE, NONE, NONE, NONE, DENIED]]],
      ofOthers: [[`/artifacts/${ID}/link`]],
    },
  },
}
