export function filesOfUpload(
  root: string,
): Promise<{ readonly functions: readonly string[]; readonly hosting: readonly string[] }>
