import { expect, test } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { ENTRIES, LAYERS, folderCircles, GROUND, wrongImports } from '../support/import-rules.ts'
import { importsOf, readSource, ROOT } from '../support/source-tree.ts'

const tree = readSource('packages/contract/src', 'packages/client/src', 'functions/src')

test('every import points down', () => {
  expect(wrongImports(tree)).toEqual([])
})

test('no folders import each other in a circle', () => {
  expect(folderCircles(tree)).toEqual([])
  const circle = new Map([
    [src('calls/a/one.ts'), "import { it } from '../b/two.ts'\n"],
    [src('calls/b/two.ts'), "import { it } from '../../access/three.ts'\n"],
    [src('access/three.ts'), "import type { it } from '../calls/a/one.ts'\n"],
  ])
  expect(folderCircles(circle)).toEqual([[src('access'), src('calls/a'), src('calls/b')]])
})

test('the check reads the whole tree', () => {
  const imports = [...tree].flatMap(([path, text]) => importsOf(path, text))
  expect(imports).toEqual(
    expect.arrayContaining([
      'packages/contract',
      'npm:express',
      'npm:@noble/hashes',
      'packages/client/src/service.ts',
      'node:sqlite',
      'functions/src/catalog/views/catalog.ts',
    ]),
  )
  const lines = [...tree.values()].flatMap((text) => text.match(/^(?:import|\} from) .*['"]$/gm) ?? [])
  expect(imports.length).toBeGreaterThanOrEqual(lines.length)
})

test('the scripts import nothing of the benchmarks, and these only the toolchain of the scripts', () => {
  const others = readSource('scripts', 'bench')
  const pairs = [...others].flatMap(([path, text]) => importsOf(path, text).map((what) => ({ path, what })))
  const wrong = pairs.filter(({ path, what }) =>
    path.startsWith('scripts/') ? what.startsWith('bench/') : /^scripts\/(?!toolchain\/)/.test(what),
  )
  expect(wrong).toEqual([])
  expect(pairs.filter(({ what }) => what.startsWith('scripts/toolchain/')).length).toBeGreaterThan(20)
})

test('the service has the layers, the entries and the ground that the rules name, and nothing else', () => {
  const found = readdirSync(new URL('functions/src', ROOT))
  expect(found.toSorted()).toEqual([...LAYERS, ...ENTRIES, ...GROUND].toSorted())
})

const src = (path: string): string => `functions/src/${path}`

test.each([
  ['packages/contract/src/alias.ts', 'node:crypto', /itself and a sha256 library/],
  ['packages/contract/src/alias.ts', '@noble/hashes/sha2.js', /sha256\.ts alone/],
  ['packages/contract/src/alias.ts', 'zod', /itself and a sha256 library/],
  ['packages/contract/src/alias.ts', '../../../functions/src/log.ts', /itself and a sha256 library/],
  ['packages/contract/src/alias.ts', '@toolrack/client', /itself and a sha256 library/],
  ['packages/client/src/service.ts', 'node:http', /client imports itself and the contract/],
  ['packages/client/src/sha256.ts', '@noble/hashes/sha2.js', /client imports itself and the contract/],
  ['packages/client/src/service.ts', 'zod', /client imports itself and the contract/],
  ['packages/client/src/service.ts', '../../../functions/src/log.ts', /itself and the contract/],
  ['packages/client/src/service.ts', '../../contract/src/alias.ts', /by its name/],
  [src('catalog/views/catalog.ts'), '../../../../packages/contract/src/alias.ts', /by its name/],
  [src('log.ts'), '../../test/support/tool.ts', /its own source/],
  [src('log.ts'), '@toolrack/client', /its own source/],
  // A layer does not know the layers above it.
  [src('access/mint-job-token.ts'), '../catalog/views/catalog-view.ts', /layer access imports only/],
  [src('catalog/definitions/module-writer.ts'), '../../calls/call.ts', /layer catalog imports only/],
  [src('catalog/views/catalog.ts'), '../../http/query.ts', /know no HTTP/],
  [src('json/read-json.ts'), '../hosts/local/serve.ts', /layer json imports only/],
  [src('catalog/definitions/plan-write.ts'), '../../hosts/services.ts', /layer catalog imports only/],
  [
    src('catalog/definitions/plan-write.ts'),
    '../../stores/sqlite/statements.ts',
    /layer catalog imports only/,
  ],
  [src('catalog/builtin/echo.ts'), '../../platform/runner/http-runner.ts', /layer catalog imports only/],
  [src('catalog/views/catalog.ts'), '../../index.ts', /layer catalog imports only/],
  [src('access/decide.ts'), '../calls/call.ts', /layer access imports only/],
  [src('access/decide.ts'), '../features/index.ts', /layer access imports only/],
  [src('access/claims.ts'), '../platform/jose/job-tokens.ts', /layer access imports only/],
  [src('calls/call.ts'), '../http/query.ts', /know no HTTP/],
  [src('calls/pipeline/run-tool.ts'), '../../platform/runner/http-runner.ts', /layer calls imports only/],
  [src('calls/pipeline/run-tool.ts'), '../../hosts/named-runner.ts', /layer calls imports only/],
  [src('platform/runner/http-runner.ts'), '../../hosts/local/runner-process.ts', /layer platform imports/],
  [src('stores/files/file-layer.ts'), '../../hosts/services.ts', /layer stores imports only/],
  [src('http/route.ts'), '../hosts/services.ts', /layer http imports only/],
  [src('hosts/services.ts'), '../local.ts', /layer hosts imports only/],
  [src('log.ts'), './catalog/views/catalog.ts', /ground imports no layer/],
  // What a layer is about.
  [src('catalog/schemas/admit-schema.ts'), 'express', /no HTTP and no vendor/],
  [src('calls/call.ts'), 'node:http', /no HTTP and no vendor/],
  [src('calls/call.ts'), '../node-http.ts', /no HTTP and no vendor/],
  [src('access/decide.ts'), 'node:sqlite', /no HTTP and no vendor/],
  [src('stores/firestore/store.ts'), 'express', /adapter serves no HTTP/],
  [
    src('features/health/health-route.ts'),
    '../../stores/sqlite/open-database.ts',
    /only hosts imports adapters/,
  ],
  [
    src('features/health/health-route.ts'),
    '../../platform/runner/http-runner.ts',
    /only hosts imports adapters/,
  ],
  [src('features/feature.ts'), '../stores/files/file-layer.ts', /only hosts imports adapters/],
  [src('local.ts'), './stores/files/file-layer.ts', /only hosts imports adapters/],
  [src('stores/sqlite/statements.ts'), '../files/file-layer.ts', /no other adapter/],
  [src('platform/jose/job-tokens.ts'), '../firebase-auth/emulator-tokens.ts', /no other adapter/],
  [src('platform/runner/http-runner.ts'), '../cloud-run/id-tokens.ts', /no other adapter/],
  [src('hosts/local/serve.ts'), '../cloud/log.ts', /only the functions import/],
  [src('hosts/cloud/services.ts'), '../local/data-folder.ts', /only the embedded server imports/],
  [src('hosts/services.ts'), './local/data-folder.ts', /only the embedded server imports/],
  [src('features/health/feature.ts'), '../index.ts', /does not know which features/],
  [src('http/serve-routes.ts'), '../features/index.ts', /layer http imports only/],
  [src('features/definitions/definition-routes.ts'), '../../access/decide.ts', /decided once/],
  [src('catalog/definitions/definition-writer.ts'), '../../access/decide.ts', /decided once/],
  [src('catalog/definitions/module-reader.ts'), '../../access/decide.ts', /decided once/],
  [src('calls/pipeline/steps.ts'), '../../access/decide.ts', /decided once/],
  // Packages and built-ins have places.
  [src('stores/sqlite/statements.ts'), 'node:http', /own place/],
  [src('stores/firestore/layer-paths.ts'), 'node:https', /own place/],
  [src('platform/runner/http-runner.ts'), 'node:http', /own place/],
  [src('platform/runner/http-runner.ts'), 'node:net', /own place/],
  [src('platform/runner/http-runner.ts'), 'google-auth-library', /own place/],
  [src('hosts/cloud/services.ts'), '@google-cloud/run', /own place/],
  [src('access/claims.ts'), 'jose', /own place/],
  [src('hosts/local/serve.ts'), '@google-cloud/firestore', /own place/],
  [src('features/index.ts'), 'firebase-functions/https', /own place/],
  [src('hosts/authentication.ts'), 'jose', /own place/],
  [src('platform/jose/job-tokens.ts'), 'firebase-admin/auth', /own place/],
  [src('hosts/config.ts'), 'express', /own place/],
  [src('features/index.ts'), 'express', /own place/],
  [src('hosts/local/serve.ts'), 'cors', /own place/],
  [src('catalog/views/catalog.ts'), 'ajv/dist/2020.js', /own place/],
  [src('catalog/definitions/plan-write.ts'), 're2js', /own place/],
  [src('features/health/health-route.ts'), 'zod', /own place/],
  [src('hosts/config.ts'), 'zod', /own place/],
  [src('http/query.ts'), 'lru-cache', /own place/],
  [src('hosts/services.ts'), 'node:sqlite', /own place/],
  [src('log.ts'), '@google-cloud/firestore', /own place/],
])('the check finds %s importing %s', (path, specifier, why) => {
  const line = `import { it } from '${specifier}'\n`
  const forms = [
    line,
    line.replace('import', 'import type'),
    `export * from '${specifier}'\n`,
    `import '${specifier}'\n`,
    `const it = await import('${specifier}')\n`,
    `import {\n  it,\n} from "${specifier}"\n`,
  ]
  const found = forms.map((text) => wrongImports(new Map([[path, `/** Why. */\n${text}`]])))
  expect(found.map((wrong) => wrong.some((sentence) => why.test(sentence)))).toEqual(forms.map(() => true))
})

test('a built-in that is asked for by its name is found as an import is', () => {
  const text = "export const sqlite = process.getBuiltinModule('node:sqlite')\n"
  expect(wrongImports(new Map([[src('hosts/services.ts'), text]]))).toHaveLength(1)
})

test.each([
  ['packages/client/src/service.ts', '@toolrack/contract'],
  ['packages/client/src/tool-defs.ts', './service.ts'],
  ['packages/contract/src/sha256.ts', '@noble/hashes/sha2.js'],
  ['packages/contract/src/alias.ts', './sha256.ts'],
  [src('catalog/views/catalog.ts'), '@toolrack/contract'],
  [src('catalog/views/catalog.ts'), '../builtin/builtins.ts'],
  [src('features/folder/check-file.ts'), '../../catalog/definitions/admit-module.ts'],
  [src('features/folder/check-file.ts'), '../../log.ts'],
  [src('catalog/views/catalog-view.ts'), '../../access/visible.ts'],
  [src('calls/pipeline/resolve-tool.ts'), '../../catalog/views/how-run.ts'],
  [src('calls/pipeline/invoker.ts'), '../../access/principal.ts'],
  [src('stores/sqlite/open-database.ts'), '../../catalog/definitions/plan-write.ts'],
  [src('platform/runner/http-runner.ts'), '../../catalog/definitions/runner.ts'],
  [src('platform/runner/runner-connection.ts'), 'node:http'],
  [src('platform/runner/frame-connections.ts'), 'node:net'],
  [src('platform/jose/job-tokens.ts'), 'jose'],
  [src('platform/firebase-auth/emulator-tokens.ts'), 'firebase-admin/auth'],
  [src('platform/cloud-run/id-tokens.ts'), 'google-auth-library'],
  [src('features/health/health-route.ts'), '../../http/route.ts'],
  [src('http/handle-route.ts'), '../access/decide.ts'],
  [src('hosts/services.ts'), '../features/index.ts'],
  [src('features/health/health-route.ts'), '../rules/rule-book.ts'],
  [src('hosts/services.ts'), '../stores/firestore/store.ts'],
  [src('hosts/authentication.ts'), '../platform/jose/job-tokens.ts'],
  [src('hosts/named-runner.ts'), '../platform/cloud-run/id-tokens.ts'],
  [src('hosts/local/data-folder.ts'), '../../stores/sqlite/open-database.ts'],
  [src('hosts/local/open-runner.ts'), '../../platform/runner/http-runner.ts'],
  [src('hosts/cloud/services.ts'), '../../stores/firestore/connect-firestore.ts'],
  [src('hosts/cloud/log.ts'), 'firebase-functions/logger'],
  [src('index.ts'), './hosts/cloud/serving.ts'],
  [src('node-http.ts'), 'node:https'],
])('%s may import %s', (path, specifier) => {
  expect(wrongImports(new Map([[path, `import { it } from '${specifier}'\n`]]))).toEqual([])
})
