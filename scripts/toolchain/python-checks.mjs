export const pythonTests = 'test/python-runner'
export const pythonFolders = ['python-runner', pythonTests, 'bench/python']

/** What is checked of the Python code, as arguments of the runner's interpreter. */
export const pythonChecks = [
  { name: 'Python lint', args: ['-m', 'ruff', 'check', '--quiet', ...pythonFolders] },
  { name: 'Python format', args: ['-m', 'ruff', 'format', '--quiet', '--check', ...pythonFolders] },
  {
    name: 'Python types',
    args: [
      '-m',
      'mypy',
      '--config-file=python-runner/pyproject.toml',
      '--no-error-summary',
      ...pythonFolders,
    ],
  },
]
