export const nodePackages: Readonly<Record<string, string>>
export function pinnedNode(
  root: string,
  machine?: { readonly running?: string; readonly platform?: string },
): Promise<string>
