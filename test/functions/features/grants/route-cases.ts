import { annAlone, DENIED, type RouteCases } from '../../../support/route-cases.ts'

const NONE = '404 MODULE_NOT_FOUND'
const HERS = '/tools/modules/secret_notes'
/** The digest of no grants, which is that of what is Ann's here. */
const DIGEST = JSON.stringify({
  digest: 'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',
})

export const ROUTE_CASES: RouteCases = {
  hers: (secret) => [[HERS, `# ${secret}\nTOOL_SPECS = ["secret_notes:read"]\n`]],
  readAt: HERS,
  routes: {
    'GET /tools/grants': {
      access: [['', '', null, ['200', '200', '200', '200', DENIED]]],
      ofOthers: [['/tools/grants']],
    },
    'GET /tools/modules/:name/grants': {
      access: [
        ['secret_notes', '', null, annAlone('200', NONE, NONE)],
        ['secret_notes', '?layer=global', null, [NONE, NONE, NONE, NONE, NONE]],
      ],
      ofOthers: [[`${HERS}/grants`]],
    },
    'POST /tools/modules/:name/grants': {
      access: [
        ['secret_notes', '', DIGEST, ['200', NONE, NONE, DENIED, DENIED]],
        ['secret_notes', '?layer=global', DIGEST, [DENIED, DENIED, NONE, DENIED, DENIED]],
        ['secret_notes', '?layer=file', DIGEST, [DENIED, DENIED, NONE, DENIED, DENIED]],
      ],
      ofOthers: [[`${HERS}/grants`, DIGEST]],
    },
    'DELETE /tools/modules/:name/grants': {
      access: [
        ['secret_notes', '', null, ['200', NONE, NONE, DENIED, DENIED]],
        ['secret_notes', '?layer=file', null, [DENIED, DENIED, NONE, DENIED, DENIED]],
      ],
      ofOthers: [[`${HERS}/grants`]],
    },
  },
}
