import { DENIED, type RouteCases } from '../../../support/route-cases.ts'

const NONE = '404 ITEM_NOT_FOUND'
const LIMITS = '{"callsPerMinute":60}'

export const ROUTE_CASES: RouteCases = {
  // Only admins write limits, also those for Ann, so nothing here is hers alone.
  hers: () => [],
  readAt: '/limits/workflow/w',
  routes: {
    'GET /limits/:kind/:id': {
      access: [
        ['user ann', '', null, [NONE, DENIED, NONE, NONE, DENIED]],
        ['workflow w', '', null, [DENIED, DENIED, NONE, DENIED, DENIED]],
      ],
      ofOthers: [['/limits/user/ann']],
    },
    'PUT /limits/:kind/:id': {
      access: [['user ann', '', LIMITS, [DENIED, DENIED, '201', DENIED, DENIED]]],
      ofOthers: [['/limits/user/ann', LIMITS]],
    },
    'DELETE /limits/:kind/:id': {
      access: [['workflow w', '', null, [DENIED, DENIED, NONE, DENIED, DENIED]]],
      ofOthers: [['/limits/user/ann']],
    },
  },
}
