import { expect } from '@jest/globals'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import type { Server } from '../support/server.ts'
import { withPython } from '../support/runner-environment.ts'

const start = sharedServerWithRunner()
let uploading: Promise<unknown> | undefined

async function withTrips(): Promise<Server> {
  const server = await start()
  await (uploading ??= uploaded(server, 'trips', TRIPS))
  return server
}

const TRIPS = `
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum


class Class(Enum):
    FIRST = "first"


@dataclass
class Trip:
    on: date
    travel_class: Class = Class.FIRST
    ticket: bytes = b""

    def __post_init__(self):
        if self.on.year < 2000:
            raise ValueError("that is too long ago")


def later(trip: Trip, days: Decimal, by: timedelta = timedelta(0)) -> dict:
    """Moves a trip."""
    moved = trip.on + timedelta(days=int(days)) + by
    return {"on": moved, "is": trip.travel_class is Class.FIRST, "ticket": trip.ticket, "days": {days}}


TOOL_SPECS = [{"name": "trips:later", "handler": later}]
`

withPython('arguments reach a handler with its types, and its result comes back as JSON', async () => {
  const server = await withTrips()
  const given = { trip: { on: '2026-01-02', ticket: '+/8=' }, days: '1', by: 'P1D' }
  const [status, result] = await invoked(server, 'trips:later', given)
  expect([status, result]).toMatchObject([
    200,
    { resultType: 'success', data: { on: '2026-01-04', is: true, ticket: '+/8=', days: ['1'] } },
  ])
})

withPython('what the schema cannot say is said by the type', async () => {
  const server = await withTrips()
  const [, early] = await invoked(server, 'trips:later', { trip: { on: '1999-01-02' }, days: 1 })
  expect(early).toMatchObject({
    code: 'ARGUMENTS_INVALID',
    error: "later() can't use its argument 'trip': that is too long ago.",
  })
  const [, misspelled] = await invoked(server, 'trips:later', { trip: { on: '2026-01-02', at: 1 }, days: 1 })
  expect(misspelled).toMatchObject({ code: 'ARGUMENTS_INVALID' })
})
