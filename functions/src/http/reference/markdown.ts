import { shapeText, typeText } from './json-schema-text.ts'
import type { AnswerFacts, Parameter, RouteFacts } from './route-facts.ts'

const MADE = /(<!-- made by npm run http-reference: (.+) -->\n)[^]*?(?=<!-- end -->)/g
const ALL = 'routes'

/**
 * The text of the page, with its generated parts made again. Each part stands between two comments. The first comment names the
 * routes of the part, as in `GET /tools/list, POST /tools/invoke`, or is `routes` for the table of all routes. For routes that
 * the page does not name, sections are added at its end. Throws if the page names a route that does not exist.
 */
export function withMadeParts(before: string, routes: readonly RouteFacts[]): string {
  const byTitle = new Map(routes.map((route) => [titleOf(route), route]))
  const page = before + newSections(before, routes)
  const routesIn = (names: string): readonly RouteFacts[] =>
    names.split(', ').map((name) => {
      const route = byTitle.get(name)
      if (!route) throw new Error(`There is no route ${name}.`)
      return route
    })
  const inOrder = routesOf(page).flatMap(routesIn)
  return page.replaceAll(MADE, (_part, comment: string, what: string) => {
    const made = what === ALL ? tableOfRoutes(inOrder) : routesIn(what).map(sectionOf).join('\n')
    return `${comment}\n${made}\n`
  })
}

/** The routes that the page describes, in the order of the page. */
export function routesOf(page: string): readonly string[] {
  const made = Array.from(page.matchAll(MADE), ([, , what = '']) => what)
  return made.filter((what) => what !== ALL).flatMap((what) => what.split(', '))
}

/**
 * Sections for the routes that the page does not name. Routes whose paths begin with the same segment share a section. The
 * generated parts of the sections are still empty.
 */
function newSections(page: string, routes: readonly RouteFacts[]): string {
  const named = new Set(routesOf(page))
  const sections = new Map<string, string[]>()
  for (const route of routes.filter((one) => !named.has(titleOf(one)))) {
    const [, first = ''] = route.path.split('/')
    sections.set(first, [...(sections.get(first) ?? []), titleOf(route)])
  }
  return Array.from(
    sections,
    ([first, titles]) =>
      `\n## ${capitalised(first)}\n\n<!-- made by npm run http-reference: ${titles.join(', ')} -->\n<!-- end -->\n`,
  ).join('')
}

function titleOf({ method, path }: RouteFacts): string {
  return `${method} ${path}`
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
}

function tableOfRoutes(routes: readonly RouteFacts[]): string {
  const rows = routes.map((route) => {
    const title = titleOf(route)
    return row([`[\`${title}\`](#${anchorOf(title)})`, route.summary])
  })
  return [row(['route', 'what it does']), row(['---', '---']), ...rows, ''].join('\n')
}

function sectionOf(route: RouteFacts): string {
  const { summary, parameters, answers, events, lines } = route
  const parts = [
    `### \`${titleOf(route)}\``,
    `${summary} ${whoText(route)}`,
    ...(parameters.length > 0 ? [tableOfParameters(parameters)] : []),
    answersText(answers),
    ...meanings('header of the answer', route.answerHeaders),
    ...meanings('in the answer', route.answerFields),
    ...(events ? [tableOfEvents(events)] : []),
    ...(lines ? [`Lines of JSON: ${shapeText(lines)}.`] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

function whoText({ addresses, allowed, inFull, isHidden }: RouteFacts): string {
  const where = `At ${listed(addresses.map((address) => `\`${address}\``))}.`
  const who = allowed.map((one) => `For ${listed(one.who)}${one.if === undefined ? '' : `: ${one.if}`}`)
  const sentences = [where, `${who.join('. ')}.`]
  if (inFull && inFull.join() !== allowed[0]?.who.join())
    sentences.push(`Only ${listed(inFull)} get the full answer.`)
  if (isHidden) sentences.push('To all others it looks as if there were nothing.')
  return sentences.join(' ')
}

function tableOfParameters(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, schema, isRequired, description = '' }) => {
    const type =
      place === 'query'
        ? typeText(schema).replace(/^text or list of texts$/, 'text, repeatable')
        : typeText(schema)
    const isMarked = isRequired && place !== 'path'
    return row([
      name === undefined ? 'the body' : `\`${name}\``,
      place,
      isMarked ? `${type}, required` : type,
      description,
    ])
  })
  return [row(['parameter', 'in', 'type', 'meaning']), row(['---', '---', '---', '---']), ...rows].join('\n')
}

/** A Markdown table of names and their meanings. Empty if there are no names. */
function meanings(heading: string, texts: Readonly<Record<string, string>>): readonly string[] {
  const rows = Object.entries(texts).map(([name, text]) => row([`\`${name}\``, text]))
  return rows.length === 0 ? [] : [[row([heading, 'meaning']), row(['---', '---']), ...rows].join('\n')]
}

function tableOfEvents(events: NonNullable<RouteFacts['events']>): string {
  const rows = Object.entries(events).map(([name, data]) => {
    return row([`\`${name}\``, shapeText(data), data.description ?? ''])
  })
  return [row(['event', 'data', 'meaning']), row(['---', '---', '---']), ...rows].join('\n')
}

function answersText(answers: readonly AnswerFacts[]): string {
  const texts = new Map<string, number[]>()
  for (const { statuses, schema } of answers) {
    const text = schema ? (schema.description ?? shapeText(schema)) : 'no body'
    texts.set(text, [...(texts.get(text) ?? []), ...statuses])
  }
  const lines = [...texts].map(([text, statuses]) => `${statusesText(statuses)}: ${text}`)
  if (lines.length === 1) return `Answer: ${lines.join('')}`
  return `Answers:\n\n${lines.map((line) => `- ${line}`).join('\n')}`
}

/** The most statuses that are listed for one answer. Only a route that answers every error in a format of its own has more. */
const STATUSES_SHOWN_MAX = 8

function statusesText(statuses: readonly number[]): string {
  if (statuses.length > STATUSES_SHOWN_MAX) return 'every other status'
  return statuses.toSorted((a, b) => a - b).join(', ')
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function row(cells: readonly string[]): string {
  if (cells.every((cell) => cell === '---')) return `|${cells.join('|')}|`
  return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
