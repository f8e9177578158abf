import { pathToFileURL } from 'node:url'
import { FRAMEWORK } from '../processes/framework.ts'
import { listening } from '../processes/listening.ts'
import { announce } from './announce.ts'
import { countReads } from './count-reads.ts'

/** A function under the Functions Framework. Variables set the function, the port, and if reads are counted. */
const { PORT: port, BENCH_COUNT_READS: isCounting } = process.env
const reads = isCounting === 'yes' ? await countReads() : undefined
await import(pathToFileURL(FRAMEWORK).href)
await listening(Number(port))
announce({ url: `http://127.0.0.1:${port}` }, reads)
