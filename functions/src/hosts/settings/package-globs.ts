import { ConfigError, inFile, list } from '../../settings/variables.ts'

/** A glob of names as people write them, such as `python_dateutil` or `NumPy`. */
const GLOB = /^[A-Za-z\d*][A-Za-z\d*._-]{0,99}$/

/**
 * Reads globs of normalised names of packages (PEP 503), separated by commas or blanks, as the runner does. The error names the
 * glob that is wrong, because names of packages are no secrets.
 */
export const packageGlobs = inFile('list of texts', (text) =>
  list()(text)
    .flatMap((entry) => entry.split(/\s+/))
    .map((entry) => {
      if (GLOB.test(entry)) return entry.replace(/[._-]+/g, '-').toLowerCase()
      const shown = JSON.stringify(entry.slice(0, 100))
      throw new ConfigError(`must be globs of names such as pandas,types-*; ${shown} is none`)
    }),
)
