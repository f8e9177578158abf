import { afterAll, expect } from '@jest/globals'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  canariesIn,
  CANARY_RULES,
  canaryWebhook,
  filesBelow,
  FINDABLE,
  sendCanaries,
} from '../support/canaries.ts'
import { serverWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const webhook = await canaryWebhook()
afterAll(() => webhook.close())

withPython(
  'of secrets that are sent in every way, none is in any file, record, log, message or on the terminal',
  async () => {
    using folder = temporaryFolder()
    const [rules, data, copy] = ['rules.json', 'data', 'audit.jsonl'].map((name) => join(folder.path, name))
    writeFileSync(rules ?? '', JSON.stringify(CANARY_RULES))
    const env = { TOOLRACK_RULES_FILE: rules ?? '', TOOLRACK_AUDIT_LOG_PATH: copy ?? '', ...webhook.env }
    await using server = await serverWithRunner({ data: data ?? '', env })
    const fetch = (path: string, init: RequestInit = {}): Promise<Response> => {
      const headers = new Headers(init.headers)
      if (!headers.has('Authorization')) headers.set('Authorization', server.approver.Authorization)
      return server.fetch(path, { ...init, headers })
    }
    const said = await sendCanaries({ fetch, isSealed: true })
    await server.kill9()
    const names = readdirSync(data ?? '')
    expect(names).toEqual(
      expect.arrayContaining(['audit.sqlite-wal', 'governance.sqlite-wal', 'toolrack.db-wal']),
    )
    const files = filesBelow(folder.path)
    expect(files).toContain(FINDABLE)
    expect(webhook.told.length).toBeGreaterThan(0)
    const found = { said, files, terminal: server.said + server.log, webhook: webhook.told.join('\n') }
    for (const [place, text] of Object.entries(found)) expect([place, canariesIn(text)]).toEqual([place, []])
  },
)
