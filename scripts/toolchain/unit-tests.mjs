/**
 * The folders of the tests that `npm run check` runs: they start no process and need little processor time. `npm test`
 * runs all tests. `npm run check` also runs a new test in one of these folders, unless the test is listed as an exception.
 */
const folders = ['architecture', 'bench', 'client', 'contract', 'docs', 'functions', 'scripts', 'support']
export const unitFolders = folders.map((name) => `test/${name}`)

/** The exceptions. They start processes, or take more than two seconds. */
export const notUnit = [
  'test/architecture/stranger-texts.test.ts',
  'test/bench/main.test.ts',
  'test/client/local-list.test.ts',
  'test/client/lost-service.test.ts',
  'test/client/package.test.ts',
  'test/client/size.test.ts',
  'test/client/vendor-types.test.ts',
  'test/contract/dialect-meaning.test.ts',
  'test/functions/calls/pipeline/failing-stores.test.ts',
  'test/functions/features/rules/received-values.test.ts',
  'test/functions/http/send-in-turns.test.ts',
  'test/functions/http/unread-answers.test.ts',
  'test/functions/features/definitions/definition-routes.test.ts',
  'test/functions/hosts/linked-agents.test.ts',
  'test/functions/features/modules/module-routes.test.ts',
  'test/functions/hosts/said-and-done.test.ts',
  'test/functions/hosts/cloud/lazy.test.ts',
  'test/functions/hosts/local/killed-first-start.test.ts',
  'test/functions/hosts/local/listen.test.ts',
  'test/functions/hosts/local/lost-databases.test.ts',
  'test/functions/hosts/local/open-kept-admissions.test.ts',
  'test/functions/hosts/local/open-runner.test.ts',
  'test/functions/hosts/local/parent-pipe.test.ts',
  'test/functions/hosts/local/runner-cli.test.ts',
  'test/functions/hosts/local/runner-process.test.ts',
  'test/functions/hosts/local/terminal.test.ts',
  'test/functions/hosts/local/validate-cli.test.ts',
  'test/functions/platform/jose/lazy.test.ts',
  'test/functions/stores/files/file-layer.test.ts',
  'test/functions/stores/files/kept-admissions.test.ts',
  'test/functions/stores/files/find-files.test.ts',
  'test/functions/stores/files/original-shapes.test.ts',
  'test/functions/stores/files/read-definition-file.test.ts',
  'test/functions/stores/files/write-file-layer.test.ts',
  'test/functions/stores/sqlite/answers-for-always.test.ts',
  'test/functions/catalog/views/dialect-answer.test.ts',
  'test/functions/catalog/views/dialect-fragments.test.ts',
  'test/functions/catalog/definitions/admit-definition.test.ts',
  'test/functions/catalog/definitions/check-budget.test.ts',
  'test/functions/features/folder/check-file.test.ts',
  'test/functions/features/folder/folder-watch.test.ts',
  'test/functions/features/folder/module-folder.test.ts',
  'test/functions/catalog/definitions/forget.test.ts',
  'test/functions/catalog/definitions/module-name.test.ts',
  'test/functions/catalog/schemas/admit-bfcl.test.ts',
  'test/functions/catalog/schemas/admit-schema.test.ts',
  'test/functions/catalog/schemas/argument-validator.test.ts',
  'test/functions/catalog/schemas/schema-compilers.test.ts',
  'test/functions/catalog/schemas/worker-pool.test.ts',
  'test/functions/catalog/schemas/worker-process.test.ts',
  'test/scripts/broken-packages.test.ts',
  'test/scripts/bundle.test.ts',
  'test/scripts/commands.test.ts',
  'test/scripts/install.test.ts',
  'test/scripts/java.test.ts',
  'test/scripts/keeper.test.ts',
  'test/scripts/new-module.test.ts',
  'test/scripts/npm.test.ts',
  'test/scripts/python-environment.test.ts',
  'test/scripts/python.test.ts',
  'test/scripts/replace.test.ts',
  'test/scripts/serving.test.ts',
  'test/scripts/start.test.ts',
  'test/scripts/supervise.test.ts',
]

/** The folders and files of the Python runner's tests that `npm run check` runs. */
const pythonFolders = [
  'child/module',
  'server/network',
  'server/pool',
  'test_hosts.py',
  'test_sides.py',
  'vectors',
  'wire',
]
export const pythonUnitFolders = pythonFolders.map((name) => `test/python-runner/${name}`)

export const notPythonUnit = [
  'test/python-runner/child/module/test_trusted_names.py',
  'test/python-runner/server/network/test_connections.py',
  'test/python-runner/server/pool/test_at_rest.py',
  'test/python-runner/server/pool/test_worker.py',
]
