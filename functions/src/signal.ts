/** Tells all its listeners that something has happened. A listener must not throw. */
export class Signal<Value = void> {
  readonly #listeners: ((value: Value) => void)[] = []

  listen(listener: (value: Value) => void): void {
    this.#listeners.push(listener)
  }

  readonly tell = (value: Value): void => {
    for (const listener of this.#listeners) listener(value)
  }
}

/**
 * Like `Signal`, but whoever tells the listeners waits until all of them have ended. Rejects with the first error of a listener.
 */
export class Hook<Value> {
  readonly #listeners: ((value: Value) => Promise<void>)[] = []

  listen(listener: (value: Value) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  async run(value: Value): Promise<void> {
    for (const listener of this.#listeners) await listener(value)
  }
}
