/** The end of a sentence: a mark before white space that no small letter follows (so not `e.g. this`), or the end of a line. */
const SENTENCE_END = /[.!?](?=\s+[^\s\p{Ll}])|[。！？]|\s*[\r\n]/u

/** As SENTENCE_END for all sentences of a text. It takes linear time, also for a text of a million blanks. */
const SENTENCE_ENDS = /[.!?](?=\s+[^\s\p{Ll}])|[。！？]|[\r\n]/gu

/** The first sentence of a text. The whole text if it has only one. */
export function firstSentence(text: string): string {
  const begin = text.trimStart()
  const end = SENTENCE_END.exec(begin)
  return end ? begin.slice(0, end.index + end[0].trimEnd().length) : text
}

/** The places behind the sentences and lines of a text, in UTF-16 code units, without the end of the text. None is inside a code point. */
export function sentenceEnds(text: string): readonly number[] {
  const ends: number[] = []
  let from = 0
  for (const { index, 0: mark } of text.matchAll(SENTENCE_ENDS)) {
    const next = index + mark.length
    let end = next
    while (end > from && /\s/.test(text.charAt(end - 1))) end -= 1
    // Of several ends of lines only the first ends a line with text.
    if (end > from && end < text.length) ends.push(end)
    from = next
  }
  return ends
}
