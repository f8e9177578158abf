export function lockFileProblems(root: string): string[]
