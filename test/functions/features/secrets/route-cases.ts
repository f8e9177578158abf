import { DENIED, type RouteCases } from '../../../support/route-cases.ts'

const NONE = '404 ITEM_NOT_FOUND'
const KEY = '/secrets/HERS'
const CONSENT = '/secrets/consents/global/shop'
const VALUE = '{"value":"a value of nobody else"}'
const DIGEST = `{"digest":"sha256:${'d'.repeat(64)}"}`

export const ROUTE_CASES: RouteCases = {
  hers: (secret) => [
    [KEY, JSON.stringify({ value: `${secret} of Ann` })],
    [CONSENT, DIGEST],
  ],
  readAt: '/secrets',
  routes: {
    'GET /secrets': {
      access: [
        ['', '', null, ['200', '200', '200', DENIED, DENIED]],
        ['', '?layer=global', null, [DENIED, DENIED, '200', DENIED, DENIED]],
      ],
      ofOthers: [['/secrets']],
    },
    'GET /secrets/:name': {
      access: [
        ['HERS', '', null, ['200', NONE, NONE, DENIED, DENIED]],
        ['HERS', '?layer=global', null, [DENIED, DENIED, NONE, DENIED, DENIED]],
      ],
      ofOthers: [[KEY]],
    },
    'PUT /secrets/:name': {
      access: [
        ['HERS', '', VALUE, ['204', '204', '204', DENIED, DENIED]],
        ['HERS', '?layer=global', VALUE, [DENIED, DENIED, '204', DENIED, DENIED]],
      ],
      ofOthers: [[KEY, VALUE]],
    },
    'DELETE /secrets/:name': {
      access: [
        ['HERS', '', null, ['204', NONE, NONE, DENIED, DENIED]],
        ['NONE', '?layer=global', null, [DENIED, DENIED, NONE, DENIED, DENIED]],
      ],
      ofOthers: [[KEY]],
    },
    'PUT /secrets/consents/:layer/:module': {
      access: [['global shop', '', DIGEST, ['204', '204', '204', DENIED, DENIED]]],
      ofOthers: [[CONSENT, DIGEST]],
    },
    'DELETE /secrets/consents/:layer/:module': {
      access: [['global shop', '', null, ['204', NONE, NONE, DENIED, DENIED]]],
      ofOthers: [[CONSENT]],
    },
    'POST /secrets/keys/rotation': {
      access: [['', '', null, [DENIED, DENIED, '200', DENIED, DENIED]]],
      ofOthers: [['/secrets/keys/rotation']],
    },
  },
}
