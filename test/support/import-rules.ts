import { posix } from 'node:path'
import { importsOf } from './source-tree.ts'
import type { SourceTree } from './source-tree.ts'

/** The imports that a part of the tree must not have, and a sentence with the reason. */
type Rule = { readonly of: RegExp; readonly mayNot: RegExp; readonly why: string }

/**
 * The layers of the service, the highest first. A layer imports the layers below it and never one above it.
 * `stores` and `platform` are the adapters: only `hosts` imports them.
 */
export const LAYERS = [
  'hosts',
  'stores',
  'platform',
  'features',
  'calls',
  'catalog',
  'documents',
  'redaction',
  'http',
  'access',
  'json',
  'settings',
] as const
type Layer = (typeof LAYERS)[number]

/** The files above all layers (the entries) and below all layers (the ground). */
export const ENTRIES = ['declaration.ts', 'index.ts', 'local.ts'] as const
export const GROUND = [
  'call-limits.ts',
  'fair-queue.ts',
  'log.ts',
  'loop-turn.ts',
  'loop-watch.ts',
  'node-http.ts',
  'parse-object.ts',
  'precondition.ts',
  'processor-time.ts',
  'running-work.ts',
  'shared-work.ts',
  'signal.ts',
  'user-bytes.ts',
  'value-shape.ts',
  'version.ts',
  'within-ms.ts',
  'write-whole-file.ts',
] as const

/** The folders of each adapter layer. An adapter imports no other adapter. */
const ADAPTERS = ['stores/files', 'stores/firestore', 'stores/sqlite'].concat(
  ['cloud-run', 'firebase-auth', 'jose', 'runner'].map((name) => `platform/${name}`),
)

const inFunctions = (paths: readonly string[]): string => `^functions/src/(?:${paths.join('|')})`
const folders = (paths: readonly string[]): string[] => paths.map((path) => `${path}/`)
const files = (names: readonly string[]): string[] => names.map((name) => `${name.replace('.', '\\.')}$`)

/** The modules that serve HTTP. An adapter may send requests. PLACES below names the files that may. */
const SERVING = 'npm:(?:express|cors)$|node:http2$'
const WEB = `${SERVING}|node:net$|node:https?$|^functions/src/node-http\\.ts$`
const DOMAIN: readonly Layer[] = ['calls', 'catalog', 'documents', 'redaction', 'access', 'json']

function above(layer: Layer): string {
  return inFunctions([...folders(LAYERS.slice(0, LAYERS.indexOf(layer))), ...files(ENTRIES)])
}

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
    mayNot: /^(?:test|bench|scripts)\/|^packages\/client/,
    why: 'the service imports its own source and the contract only',
  },
  ...LAYERS.map((layer) => ({
    of: new RegExp(inFunctions(folders([layer]))),
    mayNot: new RegExp(above(layer)),
    why: `the layer ${layer} imports only layers below it`,
  })),
  {
    of: new RegExp(inFunctions(files(GROUND))),
    mayNot: new RegExp(inFunctions([...folders(LAYERS), ...files(ENTRIES)])),
    why: 'the ground imports no layer',
  },
  {
    of: new RegExp(inFunctions(folders(DOMAIN))),
    mayNot: new RegExp(`${WEB}|^node:sqlite$`),
    why: 'calls, catalog, redaction and access know no HTTP and no vendor',
  },
  {
    of: new RegExp(inFunctions(folders(DOMAIN))),
    mayNot: new RegExp(inFunctions(folders(['http']))),
    why: 'calls, catalog, redaction and access know no HTTP and no vendor',
  },
  {
    of: /^functions\/src\/features\/[^/]+\//,
    mayNot: /^functions\/src\/features\/(?:index|host-parts)\.ts$/,
    why: 'a feature does not know which features there are',
  },
  {
    of: /^functions\/src\/(?!access\/|http\/handle-route\.ts$)/,
    mayNot: /^functions\/src\/access\/decide\.ts$/,
    why: 'what a request may do is decided once, in http/handle-route.ts',
  },
  {
    of: new RegExp(inFunctions(folders(['stores', 'platform']))),
    mayNot: new RegExp(SERVING),
    why: 'an adapter serves no HTTP',
  },
  {
    of: new RegExp(`^functions/src/(?!(?:hosts|stores|platform)/)`),
    mayNot: new RegExp(inFunctions(folders(ADAPTERS))),
    why: 'only hosts imports adapters',
  },
  ...ADAPTERS.map((adapter) => ({
    of: new RegExp(inFunctions(folders([adapter]))),
    mayNot: new RegExp(inFunctions(folders(ADAPTERS.filter((other) => other !== adapter)))),
    why: 'an adapter imports no other adapter',
  })),
  {
    of: new RegExp('^functions/src/(?!hosts/cloud/|(?:declaration|index)\\.ts$)'),
    mayNot: new RegExp(inFunctions(folders(['hosts/cloud']))),
    why: 'only the functions import hosts/cloud',
  },
  {
    of: new RegExp('^functions/src/(?!hosts/local/|local\\.ts$)'),
    mayNot: new RegExp(inFunctions(folders(['hosts/local']))),
    why: 'only the embedded server imports hosts/local',
  },
]

/** The places where each package and each guarded built-in may be imported. Any other package may be imported nowhere. */
const PLACES = new Map([
  ['npm:express', /^http\/(?:serve-routes|read-body)\.ts$/],
  ['npm:cors', /^http\/serve-routes\.ts$/],
  ['npm:ajv', /^catalog\/schemas\//],
  ['npm:re2js', /^(catalog\/schemas|features\/artifacts)\//],
  [
    'npm:zod',
    /^catalog\/definitions\/(?:definition-schema|on-failure-schema|parse-definition)\.ts$|^stores\/files\/editor-schema\.ts$|^http\/(?:answer-shapes|route-schemas)\.ts$|^http\/reference\/|^features\/[a-z-]+\/[a-z-]+-schemas\.ts$/,
  ],
  ['npm:lru-cache', /^(?:access|features\/[a-z-]+|catalog\/(?:views|schemas|search))\//],
  ['npm:gpt-tokenizer', /^catalog\/tokens\/token-counter\.ts$/],
  ['npm:jose', /^platform\/jose\//],
  ['npm:@google-cloud/firestore', /^stores\/firestore\//],
  ['npm:@google-cloud/run', /^platform\/cloud-run\//],
  ['npm:google-auth-library', /^platform\/cloud-run\/|^stores\/bucket\/account-token\.ts$/],
  ['npm:firebase-functions', /^hosts\/cloud\/|^declaration\.ts$/],
  ['npm:firebase-admin', /^stores\/firestore\/|^platform\/firebase-auth\//],
  ['node:sqlite', /^stores\/sqlite\/|^hosts\/local\//],
  [
    'node:http',
    /^(?:hosts|http|features)\/|^stores\/(?:bucket\/bucket-connection|firestore\/(?:firestore-rest|metadata-token))\.ts$|^node-http\.ts$|^platform\/runner\/runner-connection\.ts$/,
  ],
  ['node:https', /^node-http\.ts$/],
  ['node:net', /^hosts\/local\/|^platform\/runner\/frame-connections\.ts$/],
  ['node:worker_threads', /^catalog\/schemas\//],
])

/** Every import that breaks a rule, as `file imports module: reason`. */
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

/** The folders of the service that import each other in a circle, each circle sorted. The entries and the ground are no folder. */
export function folderCircles(tree: SourceTree): string[][] {
  const imports = new Map<string, Set<string>>()
  for (const [path, text] of tree) {
    const from = posix.dirname(path)
    if (!path.startsWith('functions/src/') || from === 'functions/src') continue
    const known = imports.get(from) ?? new Set()
    for (const what of importsOf(path, text)) {
      const to = posix.dirname(what)
      if (what.startsWith('functions/src/') && to !== 'functions/src' && to !== from) known.add(to)
    }
    imports.set(from, known)
  }
  const reached = new Map([...imports.keys()].map((folder) => [folder, reachable(imports, folder)]))
  const circles = [...reached].map(([folder, all]) =>
    [...all].filter((other) => reached.get(other)?.has(folder)).toSorted(),
  )
  return [...new Map(circles.filter((circle) => circle.length > 1).map((one) => [one.join(), one])).values()]
}

function reachable(imports: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [from]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
    for (const next of imports.get(folder) ?? [])
      if (!found.has(next)) {
        found.add(next)
        waiting.push(next)
      }
  return found
}
