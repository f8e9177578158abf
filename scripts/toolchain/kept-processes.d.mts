export const marker: string
export function processesWith(setting: string): number[]
export function pidsOfLines(text: string, setting: string): number[]
