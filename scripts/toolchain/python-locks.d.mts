export function pythonLockProblems(root: string): string[]
