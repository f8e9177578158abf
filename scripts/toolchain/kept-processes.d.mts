export const marker: string
export function processesWith(setting: string): number[]
