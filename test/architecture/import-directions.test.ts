import { expect, test } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { ENTRIES, FLOORS, GROUND, wrongImports } from '../support/import-rules.ts'
import { importsOf, readSource, ROOT } from '../support/source-tree.ts'

const tree = readSource('packages/contract/src', 'packages/client/src', 'functions/src')

test('every import points down', () => {
  expect(wrongImports(tree)).toEqual([])
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

test('the service has the floors, the entries and the ground that the rules name, and nothing else', () => {
  const found = readdirSync(new URL('functions/src', ROOT))
  expect(found.toSorted()).toEqual([...FLOORS, ...ENTRIES, ...GROUND].toSorted())
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
  [src('tools/catalog/catalog.ts'), '../../../../packages/contract/src/alias.ts', /by its name/],
  [src('log.ts'), '../../test/support/tool.ts', /its own source/],
  [src('log.ts'), '@toolrack/client', /its own source/],
  // A floor does not know the floors above it.
  [src('access/mint-job-token.ts'), '../tools/catalog/catalog-view.ts', /floor access imports only/],
  [src('tools/modules/module-writer.ts'), '../../calls/pipeline/call.ts', /floor tools imports only/],
  [src('tools/catalog/catalog.ts'), '../../edge/http/query.ts', /floor tools imports only/],
  [src('tools/json/read-json.ts'), '../../hosts/local/serve.ts', /floor tools imports only/],
  [src('tools/definitions/plan-write.ts'), '../../hosts/services.ts', /floor tools imports only/],
  [src('tools/definitions/plan-write.ts'), '../../stores/sqlite/statements.ts', /floor tools imports only/],
  [src('tools/builtin/echo.ts'), '../../platform/runner/http-runner.ts', /floor tools imports only/],
  [src('tools/catalog/catalog.ts'), '../../index.ts', /floor tools imports only/],
  [src('access/decide.ts'), '../calls/pipeline/call.ts', /floor access imports only/],
  [src('access/decide.ts'), '../edge/routes/route-table.ts', /floor access imports only/],
  [src('access/claims.ts'), '../platform/jose/job-tokens.ts', /floor access imports only/],
  [src('calls/pipeline/call.ts'), '../../edge/http/query.ts', /floor calls imports only/],
  [src('calls/pipeline/run-tool.ts'), '../../platform/runner/http-runner.ts', /floor calls imports only/],
  [src('calls/pipeline/run-tool.ts'), '../../hosts/named-runner.ts', /floor calls imports only/],
  [src('platform/runner/http-runner.ts'), '../../hosts/local/runner-process.ts', /floor platform imports/],
  [src('stores/files/file-layer.ts'), '../../edge/routes/health.ts', /floor stores imports only/],
  [src('edge/http/route.ts'), '../../hosts/services.ts', /floor edge imports only/],
  [src('hosts/services.ts'), '../local.ts', /floor hosts imports only/],
  [src('log.ts'), './tools/catalog/catalog.ts', /ground imports no floor/],
  // What a floor is about.
  [src('tools/schemas/admit-schema.ts'), 'express', /no HTTP and no vendor/],
  [src('calls/pipeline/call.ts'), 'node:http', /no HTTP and no vendor/],
  [src('calls/pipeline/call.ts'), '../../node-http.ts', /no HTTP and no vendor/],
  [src('access/decide.ts'), 'node:sqlite', /no HTTP and no vendor/],
  [src('stores/firestore/store.ts'), 'express', /adapter serves no HTTP/],
  [src('edge/routes/health.ts'), '../../stores/sqlite/open-database.ts', /only hosts imports adapters/],
  [src('edge/routes/health.ts'), '../../platform/runner/http-runner.ts', /only hosts imports adapters/],
  [src('edge/app.ts'), '../stores/files/file-layer.ts', /only hosts imports adapters/],
  [src('local.ts'), './stores/files/file-layer.ts', /only hosts imports adapters/],
  [src('stores/sqlite/statements.ts'), '../files/file-layer.ts', /no other adapter/],
  [src('platform/jose/job-tokens.ts'), '../firebase-auth/emulator-tokens.ts', /no other adapter/],
  [src('platform/runner/http-runner.ts'), '../cloud-run/id-tokens.ts', /no other adapter/],
  [src('hosts/local/serve.ts'), '../cloud/log.ts', /only the functions import/],
  [src('hosts/cloud/services.ts'), '../local/data-folder.ts', /only the embedded server imports/],
  [src('hosts/services.ts'), './local/data-folder.ts', /only the embedded server imports/],
  [src('edge/routes/route-table.ts'), '../services.ts', /do not know the app/],
  [src('edge/http/serve-routes.ts'), '../routes/route-table.ts', /serves any table/],
  [src('edge/routes/definitions.ts'), '../../access/decide.ts', /decided once/],
  [src('tools/definitions/definition-writer.ts'), '../../access/decide.ts', /decided once/],
  [src('tools/modules/module-reader.ts'), '../../access/decide.ts', /decided once/],
  [src('calls/pipeline/steps.ts'), '../../access/decide.ts', /decided once/],
  // Packages and built-ins have places.
  [src('stores/sqlite/statements.ts'), 'node:http', /own place/],
  [src('stores/firestore/layer-paths.ts'), 'node:https', /own place/],
  [src('platform/runner/http-runner.ts'), 'node:http', /own place/],
  [src('platform/runner/http-runner.ts'), 'google-auth-library', /own place/],
  [src('hosts/cloud/services.ts'), '@google-cloud/run', /own place/],
  [src('access/claims.ts'), 'jose', /own place/],
  [src('hosts/local/serve.ts'), '@google-cloud/firestore', /own place/],
  [src('edge/app.ts'), 'firebase-functions/https', /own place/],
  [src('hosts/authentication.ts'), 'jose', /own place/],
  [src('platform/jose/job-tokens.ts'), 'firebase-admin/auth', /own place/],
  [src('hosts/config.ts'), 'express', /own place/],
  [src('edge/app.ts'), 'express', /own place/],
  [src('hosts/local/serve.ts'), 'cors', /own place/],
  [src('tools/catalog/catalog.ts'), 'ajv/dist/2020.js', /own place/],
  [src('tools/definitions/plan-write.ts'), 're2js', /own place/],
  [src('edge/routes/health.ts'), 'zod', /own place/],
  [src('hosts/config.ts'), 'zod', /own place/],
  [src('edge/http/query.ts'), 'lru-cache', /own place/],
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
  [src('tools/catalog/catalog.ts'), '@toolrack/contract'],
  [src('tools/catalog/catalog.ts'), '../definitions/plan-write.ts'],
  [src('tools/folder/check-file.ts'), '../modules/admit-module.ts'],
  [src('tools/folder/check-file.ts'), '../../log.ts'],
  [src('tools/catalog/catalog-view.ts'), '../../access/visible.ts'],
  [src('calls/pipeline/resolve-tool.ts'), '../../tools/catalog/how-run.ts'],
  [src('calls/pipeline/invoker.ts'), '../../access/principal.ts'],
  [src('stores/sqlite/open-database.ts'), '../../tools/definitions/plan-write.ts'],
  [src('platform/runner/http-runner.ts'), '../../tools/modules/runner.ts'],
  [src('platform/runner/runner-connection.ts'), 'node:http'],
  [src('platform/jose/job-tokens.ts'), 'jose'],
  [src('platform/firebase-auth/emulator-tokens.ts'), 'firebase-admin/auth'],
  [src('platform/cloud-run/id-tokens.ts'), 'google-auth-library'],
  [src('edge/routes/health.ts'), '../http/route.ts'],
  [src('edge/http/handle-route.ts'), '../../access/decide.ts'],
  [src('edge/app.ts'), './routes/route-table.ts'],
  [src('edge/routes/folder.ts'), '../../tools/folder/folder-answer.ts'],
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
