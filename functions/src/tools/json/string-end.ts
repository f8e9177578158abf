/** Where a string ends whose opening quote is at `start`, in text that JSON.parse has accepted: the place of its last quote. */
export function stringEnd(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}
