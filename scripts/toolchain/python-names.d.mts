export const keywords: ReadonlySet<string>
export const standardLibrary: ReadonlySet<string>
