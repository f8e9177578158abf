/** The version of the service. A test compares it with package.json and the changelog. */
export const VERSION = '0.1.0'
