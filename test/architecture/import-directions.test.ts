import { expect, test } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { ROOMS, wrongImports } from '../support/import-rules.ts'
import { importsOf, readSource, ROOT } from '../support/source-tree.ts'

const tree = readSource('packages/contract/src', 'packages/client/src', 'functions/src')

test('every import points the way of the house', () => {
  expect(wrongImports(tree)).toEqual([])
})

test('the check reads the whole house', () => {
  const imports = [...tree].flatMap(([path, text]) => importsOf(path, text))
  expect(imports).toEqual(
    expect.arrayContaining([
      'packages/contract',
      'npm:express',
      'npm:@noble/hashes',
      'packages/client/src/service.ts',
      'node:sqlite',
      'functions/src/catalog/catalog.ts',
    ]),
  )
  const lines = [...tree.values()].flatMap((text) => text.match(/^(?:import|\} from) .*['"]$/gm) ?? [])
  expect(imports.length).toBeGreaterThanOrEqual(lines.length)
})

test('every folder of the service is a room that the rules know', () => {
  const folders = readdirSync(new URL('functions/src', ROOT), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  expect(ROOMS).toEqual(expect.arrayContaining(folders.map(({ name }) => name)))
})

test.each([
  ['packages/contract/src/alias.ts', 'node:crypto', /itself and a sha256 library/],
  ['packages/contract/src/alias-rule.ts', '@noble/hashes/sha2.js', /sha256\.ts alone/],
  ['packages/contract/src/alias.ts', 'zod', /itself and a sha256 library/],
  ['packages/contract/src/alias.ts', '../../../functions/src/log.ts', /itself and a sha256 library/],
  ['packages/client/src/service.ts', 'node:http', /client imports itself and the contract/],
  ['packages/client/src/sha256.ts', '@noble/hashes/sha2.js', /client imports itself and the contract/],
  ['packages/client/src/service.ts', 'zod', /client imports itself and the contract/],
  [
    'packages/client/src/service.ts',
    '../../../functions/src/log.ts',
    /client imports itself and the contract/,
  ],
  ['packages/client/src/service.ts', '../../contract/src/alias.ts', /by its name/],
  ['packages/contract/src/alias.ts', '@toolrack/client', /itself and a sha256 library/],
  ['functions/src/catalog/catalog.ts', '../../../packages/contract/src/alias.ts', /by its name/],
  ['functions/src/log.ts', '../../test/support/tool.ts', /its own source/],
  ['functions/src/log.ts', '@toolrack/client', /its own source/],
  ['functions/src/catalog/catalog.ts', '../http/query.ts', /domain folder knows no HTTP/],
  ['functions/src/access/decide.ts', '../routes/route-table.ts', /domain folder knows no HTTP/],
  ['functions/src/json/read-json.ts', '../local/serve.ts', /domain folder knows no HTTP/],
  ['functions/src/definitions/plan-write.ts', '../services.ts', /domain folder knows no HTTP/],
  ['functions/src/schemas/admit-schema.ts', 'express', /domain folder knows no HTTP/],
  ['functions/src/invoke/call.ts', 'node:http', /domain folder knows no HTTP/],
  ['functions/src/dispatch/dispatcher.ts', '../routes/dispatch-calls.ts', /domain folder knows no HTTP/],
  ['functions/src/builtin/time.ts', '../http/query.ts', /domain folder knows no HTTP/],
  ['functions/src/builtin/echo.ts', '../runner/http-runner.ts', /domain folder knows no vendor/],
  ['functions/src/definitions/plan-write.ts', '../sqlite/statements.ts', /domain folder knows no vendor/],
  ['functions/src/catalog/catalog.ts', '../files/file-layer.ts', /domain folder knows no vendor/],
  ['functions/src/folder/folder-layer.ts', '../files/file-layer.ts', /domain folder knows no vendor/],
  ['functions/src/folder/refreshed.ts', '../routes/folder.ts', /domain folder knows no HTTP/],
  ['functions/src/audit/record.ts', '../firestore/store.ts', /domain folder knows no vendor/],
  ['functions/src/access/decide.ts', 'node:sqlite', /domain folder knows no vendor/],
  ['functions/src/sqlite/statements.ts', '../http/query.ts', /adapter serves no HTTP/],
  ['functions/src/files/file-layer.ts', '../routes/health.ts', /adapter serves no HTTP/],
  ['functions/src/sqlite/statements.ts', 'node:http', /own place/],
  ['functions/src/firestore/layer-paths.ts', 'node:https', /own place/],
  ['functions/src/firestore/store.ts', 'express', /adapter serves no HTTP/],
  ['functions/src/sqlite/statements.ts', '../files/file-layer.ts', /no other adapter/],
  [
    'functions/src/routes/health.ts',
    '../sqlite/open-database.ts',
    /only services\.ts, authentication\.ts, named-runner\.ts and/,
  ],
  [
    'functions/src/app.ts',
    './files/file-layer.ts',
    /only services\.ts, authentication\.ts, named-runner\.ts and/,
  ],
  ['functions/src/jose/job-tokens.ts', '../firebase-auth/emulator-tokens.ts', /no other adapter/],
  ['functions/src/invoke/runner.ts', '../runner/http-runner.ts', /domain folder knows no vendor/],
  [
    'functions/src/routes/health.ts',
    '../runner/http-runner.ts',
    /only services\.ts, authentication\.ts, named-runner\.ts and/,
  ],
  ['functions/src/runner/http-runner.ts', '../local/runner-process.ts', /adapter serves no HTTP/],
  ['functions/src/runner/http-runner.ts', 'node:http', /own place/],
  ['functions/src/runner/http-runner.ts', '../cloud-run/id-tokens.ts', /no other adapter/],
  ['functions/src/runner/http-runner.ts', 'google-auth-library', /own place/],
  ['functions/src/cloud/services.ts', '@google-cloud/run', /own place/],
  ['functions/src/invoke/call.ts', '../node-http.ts', /domain folder knows no HTTP/],
  ['functions/src/invoke/run-tool.ts', '../named-runner.ts', /domain folder knows no HTTP/],
  ['functions/src/local/serve.ts', '../cloud/log.ts', /only the functions know the cloud/],
  ['functions/src/cloud/services.ts', '../local/open-store.ts', /the cloud is not local/],
  ['functions/src/catalog/catalog.ts', '../cloud/log.ts', /domain folder knows no HTTP/],
  ['functions/src/access/claims.ts', 'jose', /own place/],
  ['functions/src/local/serve.ts', '@google-cloud/firestore', /own place/],
  ['functions/src/app.ts', 'firebase-functions/https', /own place/],
  ['functions/src/authentication.ts', 'jose', /own place/],
  ['functions/src/jose/job-tokens.ts', 'firebase-admin/auth', /own place/],
  ['functions/src/config.ts', 'express', /own place/],
  ['functions/src/routes/list-tools.ts', 'express', /own place/],
  ['functions/src/app.ts', 'express', /own place/],
  ['functions/src/local/serve.ts', 'cors', /own place/],
  ['functions/src/http/route.ts', '../services.ts', /does not know who joins it/],
  ['functions/src/routes/health.ts', '../services.ts', /does not know who joins it/],
  ['functions/src/routes/route-table.ts', '../app.ts', /does not know who joins it/],
  ['functions/src/http/serve-routes.ts', '../routes/route-table.ts', /serves any table/],
  ['functions/src/routes/definitions.ts', '../access/authorise.ts', /decided once/],
  ['functions/src/definitions/definition-writer.ts', '../access/decide.ts', /decided once/],
  ['functions/src/modules/module-reader.ts', '../access/decide.ts', /decided once/],
  ['functions/src/invoke/steps.ts', '../access/authorise.ts', /decided once/],
  ['functions/src/catalog/catalog.ts', 'ajv/dist/2020.js', /own place/],
  ['functions/src/definitions/plan-write.ts', 're2js', /own place/],
  ['functions/src/routes/health.ts', 'zod', /own place/],
  ['functions/src/config.ts', 'zod', /own place/],
  ['functions/src/http/query.ts', 'lru-cache', /own place/],
  ['functions/src/services.ts', 'node:sqlite', /own place/],
  ['functions/src/log.ts', '@google-cloud/firestore', /own place/],
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
  expect(wrongImports(new Map([['functions/src/services.ts', text]]))).toHaveLength(1)
})

test.each([
  ['packages/client/src/service.ts', '@toolrack/contract'],
  ['packages/client/src/tool-defs.ts', './service.ts'],
  ['packages/contract/src/sha256.ts', '@noble/hashes/sha2.js'],
  ['packages/contract/src/alias.ts', './sha256.ts'],
  ['functions/src/catalog/catalog.ts', '@toolrack/contract'],
  ['functions/src/catalog/catalog.ts', '../definitions/plan-write.ts'],
  ['functions/src/sqlite/open-database.ts', '../definitions/plan-write.ts'],
  ['functions/src/routes/health.ts', '../http/route.ts'],
  ['functions/src/services.ts', './firestore/store.ts'],
  ['functions/src/folder/check-file.ts', '../modules/admit-module.ts'],
  ['functions/src/routes/folder.ts', '../folder/folder-answer.ts'],
  ['functions/src/http/handle-route.ts', '../access/decide.ts'],
  ['functions/src/app.ts', './routes/route-table.ts'],
  ['functions/src/authentication.ts', './jose/job-tokens.ts'],
  ['functions/src/jose/job-tokens.ts', 'jose'],
  ['functions/src/firebase-auth/emulator-tokens.ts', 'firebase-admin/auth'],
  ['functions/src/local/open-store.ts', '../sqlite/open-database.ts'],
  ['functions/src/local/open-runner.ts', '../runner/http-runner.ts'],
  ['functions/src/runner/http-runner.ts', '../invoke/runner.ts'],
  ['functions/src/cloud/services.ts', '../firestore/connect-firestore.ts'],
  ['functions/src/index.ts', './cloud/serving.ts'],
  ['functions/src/node-http.ts', 'node:https'],
  ['functions/src/named-runner.ts', './cloud-run/id-tokens.ts'],
  ['functions/src/cloud-run/id-tokens.ts', 'google-auth-library'],
  ['functions/src/runner/runner-line.ts', 'node:http'],
  ['functions/src/invoke/resolve-tool.ts', '../catalog/how-run.ts'],
  ['functions/src/cloud/log.ts', 'firebase-functions/logger'],
])('%s may import %s', (path, specifier) => {
  expect(wrongImports(new Map([[path, `import { it } from '${specifier}'\n`]]))).toEqual([])
})
