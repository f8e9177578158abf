import type { FolderNews } from '../../features/folder/folder-news.ts'
import { acceptCommand, grantsText } from '../../catalog/views/why-pending.ts'
import { harmless } from '../../log.ts'

/** The most faults of one file that are shown. `GET /api/tools` shows all. */
const FAULTS_SHOWN_MAX = 5

const MARGIN = '      '

/** The fewest columns of a row, even in a narrower terminal. */
const COLUMNS_LEAST = 20

/** The methods of `Terminal` that are used here. */
type Shown = { readonly columns: number; write(lines: string): void }

/**
 * Shows on the terminal what has happened to a file of the watched folder: a line, and a few rows for each of its first faults.
 */
export function moduleLines(terminal: Shown): (news: FolderNews) => void {
  return (news) => {
    if (news.kind === 'progress') return terminal.write(progressLine(news, terminal.columns))
    const faults = 'faults' in news ? news.faults : []
    const more = faults.length - FAULTS_SHOWN_MAX
    const lines = [
      `module  ${harmless(news.file)}  ${headline(news)}`,
      ...('waits' in news && news.waits ? waitsRows({ layer: 'file', ...news.waits }, terminal.columns) : []),
      ...(news.kind === 'waits' ? waitsRows(news, terminal.columns) : []),
      ...faults.slice(0, FAULTS_SHOWN_MAX).flatMap((fault) => rows(fault, terminal.columns)),
      ...(more > 0 ? [`${MARGIN}… and ${more} more; GET /api/tools shows all`] : []),
      '',
    ]
    terminal.write(lines.join('\n'))
  }
}

type Waits = Pick<Extract<FolderNews, { kind: 'waits' }>, 'layer' | 'module' | 'grants'>

/** What the module asks for, and the command that accepts it in one unbroken row, so that it can be copied. */
function waitsRows({ layer, module, grants }: Waits, columns: number): readonly string[] {
  const asks = rows(`waits for consent: ${grantsText(grants)}. To accept:`, columns)
  return [...asks, `${MARGIN}${harmless(acceptCommand(module, layer))}`]
}

/** One line about what is done with a file. It is cut off, because parts of it come from an index of packages. */
function progressLine({ file, text }: FolderNews & { kind: 'progress' }, columns: number): string {
  const line = `module  ${harmless(file)}  ${harmless(text)}`
  return `${line.slice(0, Math.max(COLUMNS_LEAST, columns - 1))}\n`
}

function headline(news: Exclude<FolderNews, { kind: 'progress' }>): string {
  if (news.kind === 'removed') return 'is removed'
  if (news.kind === 'waits') return 'is uploaded'
  if (news.kind === 'refused')
    return news.serving ? 'is refused; the last version that worked stays in use' : 'is refused'
  const { again, tools, faults } = news
  const left = faults.length > 0 ? ', and some are left out' : ''
  return `${again ? 'works again' : 'loaded'}: ${tools} ${tools === 1 ? 'tool' : 'tools'}${left}`
}

/**
 * Splits a text into rows that are narrower than the terminal. Parts of the text come from a module. The terminal would wrap a
 * longer row, and its rest could look like a line of the service.
 */
function rows(text: string, columns: number): readonly string[] {
  const width = Math.max(COLUMNS_LEAST, columns - MARGIN.length)
  const found: string[] = []
  let row = ''
  for (const word of harmless(text)
    .split(' ')
    .flatMap((each) => pieces(each, width))) {
    if (row !== '' && row.length + 1 + word.length > width) {
      found.push(row)
      row = word
    } else row = row === '' ? word : `${row} ${word}`
  }
  return [...found, row].map((each) => MARGIN + each)
}

/** Splits a word that is wider than the terminal. */
function pieces(word: string, width: number): readonly string[] {
  return word.match(new RegExp(`.{1,${width}}`, 'gsu')) ?? ['']
}
