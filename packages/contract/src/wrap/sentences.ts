/**
 * Matches the end of a sentence: a full stop, exclamation mark or question mark before white space, or the end of a line. After
 * the white space no small letter may follow, so `e.g. this` does not match.
 */
const SENTENCE_END = /[.!?](?=\s+[^\s\p{Ll}])|[。！？]|\s*[\r\n]/u

/** Matches the ends of all sentences in a text. The time is linear, even for a text of a million blanks. */
const SENTENCE_ENDS = /[.!?](?=\s+[^\s\p{Ll}])|[。！？]|[\r\n]/gu

/** The first sentence of a text. It is the whole text if there is no other sentence. */
export function firstSentence(text: string): string {
  const begin = text.trimStart()
  const end = SENTENCE_END.exec(begin)
  return end ? begin.slice(0, end.index + end[0].trimEnd().length) : text
}

/**
 * Where the sentences and lines of a text end, as positions in UTF-16 code units. The end of the text itself is left out. No
 * position is inside of a code point.
 */
export function sentenceEnds(text: string): readonly number[] {
  const ends: number[] = []
  let from = 0
  for (const { index, 0: mark } of text.matchAll(SENTENCE_ENDS)) {
    const next = index + mark.length
    let end = next
    while (end > from && /\s/.test(text.charAt(end - 1))) end -= 1
    // If several line ends follow each other, only the first one ends a line with text.
    if (end > from && end < text.length) ends.push(end)
    from = next
  }
  return ends
}
