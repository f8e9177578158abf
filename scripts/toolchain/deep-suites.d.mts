export const deepSuites: readonly string[]
export const packageSuites: readonly string[]
