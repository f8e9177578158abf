export const unitFolders: readonly string[]
export const notUnit: readonly string[]
export const pythonUnitFolders: readonly string[]
export const notPythonUnit: readonly string[]
