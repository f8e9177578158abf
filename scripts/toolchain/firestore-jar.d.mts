export function firestoreJar(
  root: string,
  machine?: { readonly env?: Readonly<Record<string, string | undefined>>; readonly home?: string },
): { readonly isHere: boolean; readonly env: Readonly<Record<string, string>> }
export function shimJar(jar: string): Buffer
