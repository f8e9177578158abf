import { FAMILIES } from '../../functions/src/http/route.ts'
import { API_ROUTES, ROUTES } from '../../functions/src/routes/routes.ts'

const NONE = { method: 'GET', path: '/health', isPublic: true } as const

export const TABLE = [
  ...ROUTES.map(({ method, path }) => ({
    method,
    path,
    isPublic: false,
    addresses: FAMILIES.map((family) => ({ address: `/${family}${path}`, family })),
  })),
  ...API_ROUTES.map(({ method, path }) => ({
    method,
    path: `/api${path}`,
    isPublic: false,
    addresses: [{ address: `/api${path}`, family: 'workflows' as const }],
  })),
  { ...NONE, addresses: [{ address: '/health', family: 'workflows' as const }] },
]
