import { annAlone, DENIED, type RouteCases } from '../../../support/route-cases.ts'

const NONE = '404 SCOPE_NOT_FOUND'
const ROOM = '/scopes/room/r7'

export const ROUTE_CASES: RouteCases = {
  hers: (secret) => [[ROOM, JSON.stringify({ scope: `hers,tag:${secret}` })]],
  readAt: '/scopes',
  routes: {
    'GET /scopes': {
      access: [['', '', null, ['200', '200', '200', '200', DENIED]]],
      ofOthers: [['/scopes']],
    },
    'GET /scopes/:kind/:id': {
      access: [['room r7', '', null, annAlone('200', NONE, DENIED)]],
      ofOthers: [[ROOM], ['/scopes/room/..%2F..%2Fann%2Froom%2Fr7']],
    },
    'GET /scopes/:kind/:id/versions': {
      access: [['room r7', '', null, annAlone('200', NONE, DENIED)]],
      ofOthers: [[`${ROOM}/versions`]],
    },
    'PUT /scopes/:kind/:id': {
      access: [['room r7', '', '{"scope":"none"}', annAlone('200', '201', DENIED)]],
      ofOthers: [[ROOM, '{"scope":"all"}']],
    },
    'DELETE /scopes/:kind/:id': {
      access: [['room r7', '', null, annAlone('200', NONE, DENIED)]],
      ofOthers: [[ROOM]],
    },
    'POST /scopes/:kind/:id/commands': {
      access: [['room r7', '', '{"text":"/tools off"}', ['200', '200', '200', '200', DENIED]]],
      ofOthers: [
        [`${ROOM}/commands`, '{"text":"/tools"}'],
        [`${ROOM}/commands`, '{"text":"/tools off"}'],
      ],
    },
  },
}
