import { importsOf } from './source-tree.ts'
import type { SourceTree } from './source-tree.ts'

/** What each room of the house may not know (design, section 3). */
type Rule = { readonly of: RegExp; readonly mayNot: RegExp; readonly why: string }

const inFunctions = (rooms: readonly string[]): string => `^functions/src/(?:${rooms.join('|')})/`
const DOMAIN = [
  'access',
  'agents',
  'audit',
  'authoring',
  'builtin',
  'catalog',
  'definitions',
  'dispatch',
  'folder',
  'invoke',
  'json',
  'modules',
  'schemas',
  'sessions',
]
const ADAPTERS = ['cloud-run', 'files', 'firebase-auth', 'firestore', 'jose', 'openai', 'runner', 'sqlite']
const EDGE = ['http', 'routes']
/** How the service is run: each joins the parts in its own way. */
const HOSTS = ['cloud', 'local']
const ENTRY =
  'functions/src/(?:app|authentication|declaration|index|local|named-runner|options|services)\\.ts$'
/** What serves. An adapter may ask by HTTP; where, the places below say. */
const SERVING = 'npm:(?:express|cors)$|node:http2$|node:net$'
const WEB = `${SERVING}|node:https?$|^functions/src/node-http\\.ts$`
const ADAPTER = inFunctions(ADAPTERS)

export const ROOMS = [...DOMAIN, ...ADAPTERS, ...EDGE, ...HOSTS]

const RULES: readonly Rule[] = [
  {
    of: /^packages\/contract\//,
    mayNot: /^(?!packages\/contract\/src\/|npm:@noble\/hashes$)/,
    why: 'the contract imports itself and a sha256 library only',
  },
  {
    of: /^packages\/contract\/src\/(?!sha256\.ts$)/,
    mayNot: /^npm:/,
    why: 'sha256.ts alone imports the sha256 library',
  },
  {
    of: /^packages\/client\//,
    mayNot: /^(?!packages\/client\/src\/|packages\/contract(?:$|\/))/,
    why: 'the client imports itself and the contract only',
  },
  {
    of: /^(?:functions|packages\/client)\//,
    mayNot: /^packages\/contract\/./,
    why: 'the contract is imported by its name',
  },
  {
    of: /^functions\//,
    mayNot: /^(?:test|bench|scripts|console)\/|^packages\/client/,
    why: 'the service imports its own source and the contract only',
  },
  {
    of: new RegExp(inFunctions(DOMAIN)),
    mayNot: new RegExp(`${inFunctions([...EDGE, ...HOSTS])}|${ENTRY}|${WEB}`),
    why: 'a domain folder knows no HTTP',
  },
  {
    of: new RegExp(inFunctions(DOMAIN)),
    mayNot: new RegExp(`${ADAPTER}|^node:sqlite$`),
    why: 'a domain folder knows no vendor',
  },
  {
    of: new RegExp(inFunctions(EDGE)),
    mayNot: new RegExp(ENTRY),
    why: 'the edge is given what it works with, and does not know who joins it',
  },
  {
    of: new RegExp(inFunctions(['http'])),
    mayNot: new RegExp(inFunctions(['routes'])),
    why: 'the edge serves any table of routes',
  },
  {
    of: /^functions\/src\/(?!access\/|http\/handle-route\.ts$)/,
    mayNot: /^functions\/src\/access\/(?:authorise|decide)\.ts$/,
    why: 'what a request may do is decided once, in http/handle-route.ts',
  },
  {
    of: new RegExp(ADAPTER),
    mayNot: new RegExp(`${inFunctions([...EDGE, ...HOSTS])}|${ENTRY}|${SERVING}`),
    why: 'an adapter serves no HTTP',
  },
  {
    of: new RegExp(
      `^functions/src/(?!(?:${[...ADAPTERS, ...HOSTS].join('|')})/|(?:authentication|named-runner|services|local|index)\\.ts$)`,
    ),
    mayNot: new RegExp(ADAPTER),
    why: 'only services.ts, authentication.ts, named-runner.ts and the entries know adapters',
  },
  {
    of: new RegExp(`^functions/src/(?!cloud/|(?:declaration|index|options)\\.ts$)`),
    mayNot: new RegExp(inFunctions(['cloud'])),
    why: 'only the functions know the cloud',
  },
  {
    of: new RegExp(inFunctions(['cloud'])),
    mayNot: new RegExp(inFunctions(['local'])),
    why: 'the cloud is not local',
  },
  ...ADAPTERS.map((room) => ({
    of: new RegExp(inFunctions([room])),
    mayNot: new RegExp(inFunctions(ADAPTERS.filter((other) => other !== room))),
    why: 'an adapter knows no other adapter',
  })),
]

/** Where each package and each guarded built-in may be imported; any other package has no place yet. */
const PLACES = new Map([
  ['npm:express', /^http\/(?:serve-routes|read-body)\.ts$/],
  ['npm:cors', /^http\/allow-origins\.ts$/],
  ['npm:ajv', /^schemas\//],
  ['npm:re2js', /^schemas\//],
  [
    'npm:zod',
    /^definitions\/definition-schema\.ts$|^definitions\/parse-definition\.ts$|^files\/editor-schema\.ts$/,
  ],
  ['npm:lru-cache', /^(?:access|catalog|routes|schemas)\//],
  ['npm:jose', /^jose\//],
  ['npm:@google-cloud/firestore', /^firestore\//],
  ['npm:@google-cloud/run', /^cloud-run\//],
  ['npm:google-auth-library', /^cloud-run\//],
  ['npm:firebase-functions', /^cloud\/|^(?:declaration|options)\.ts$/],
  ['npm:firebase-admin', /^(?:firestore|firebase-auth)\//],
  ['node:sqlite', /^(?:sqlite|local)\//],
  [
    'node:http',
    /^(?:cloud|http|local|routes)\/|^app\.ts$|^firestore\/(?:firestore-rest|metadata-token)\.ts$|^node-http\.ts$|^runner\/runner-line\.ts$/,
  ],
  ['node:https', /^node-http\.ts$/],
  ['node:net', /^local\//],
  ['node:child_process', /^(?:local|schemas)\//],
  ['node:worker_threads', /^schemas\/answer-questions\.ts$/],
])

/** Every import that points the wrong way, as `file imports what: why`. */
export function wrongImports(tree: SourceTree): string[] {
  return [...tree].flatMap(([path, text]) =>
    importsOf(path, text).flatMap((what) =>
      reasons(path, what).map((why) => `${path} imports ${what}: ${why}`),
    ),
  )
}

function reasons(path: string, what: string): string[] {
  const broken = RULES.filter(({ of, mayNot }) => of.test(path) && mayNot.test(what)).map(({ why }) => why)
  return isInPlace(path, what) ? broken : [...broken, `${what} has its own place`]
}

function isInPlace(path: string, what: string): boolean {
  if (!path.startsWith('functions/src/')) return true
  const place = PLACES.get(what)
  if (!place) return !what.startsWith('npm:')
  return place.test(path.slice('functions/src/'.length))
}
