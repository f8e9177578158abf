/** How the contenders of a build are called. */
export function buildNames(count: number) {
  const size = count.toLocaleString('en-US')
  return { ours: `Toolrack, 5 of ${size}`, peer: `merge, filter and stringify, 5 of ${size}` }
}
