export function standardDefinitionsPath(root: string): string
export function standardDefinitionsText(root: string): string
