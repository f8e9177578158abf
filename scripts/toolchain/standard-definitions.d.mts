export const standardDefinitionsPath: string
export function standardDefinitionsText(): string
