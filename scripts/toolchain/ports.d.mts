export function isFree(port: number): Promise<boolean>
export function freePorts(count: number): Promise<number[]>
