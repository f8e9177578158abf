export function absentPlatformPackages(root: string, options: { readonly withDev: boolean }): string[]
