export const marker: string
export function pidsIn(listing: string, setting: string): number[]
export function processesWith(setting: string): number[]
