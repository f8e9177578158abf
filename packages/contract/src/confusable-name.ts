/** Letters of other scripts that a reader takes for the ASCII letter below them (Unicode TR39, Cyrillic and Greek). */
const LOOKALIKES = 'аеорсухіјѕԁһӏАВЕКМНОРСТУХІЈЅαικνορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ'
const LATIN = 'aeopcyxijsdhlABEKMHOPCTYXIJSaikvopuxABEZHIKMNOPTYX'
const TO_LATIN = new Map(Array.from(LOOKALIKES, (char, index) => [char, LATIN[index] ?? char]))

/** Characters that a reader does not see: zero-width, direction marks, soft hyphen, byte order mark. */
const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/gu

/**
 * What a reader would take a name for: NFKC, invisible characters gone, look-alike letters in ASCII. Equal to the
 * name itself for every allowed name; used to say which tool a refused name resembles.
 */
export function readableName(name: string): string {
  return [...name.normalize('NFKC').replace(INVISIBLE, '')].map((char) => TO_LATIN.get(char) ?? char).join('')
}
